//! Upload and download of weights, in GB/s of ggml's bytes and as a share of a plain copy of as many bytes.
//!
//! `cargo bench --bench repack`. Aims: on one thread, upload at half and download at two fifths of the copy's speed; at
//! two fifths and three tenths for types of 2, 3, 5 and 6 bits and for those with blocks of 256; on two threads, 1.6
//! times the speed of one. `--check` after `--` fails when one is missed; names of types measure these only.
//!
//! Other programs on the machine disturb any single measurement, so all things measured take turns, for several
//! rounds, and the best time of each counts.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use ggml_hexagon::layout::{TileLayout, TileType};

/// K and N of a usual weight matrix, larger than the caches next to a core.
const NE: [usize; 4] = [4096, 4096, 1, 1];
const ROUNDS: usize = 400;

/// Shares of a copy's speed that upload and download of a type should reach; `None` for types that are only reported.
fn aims(kind: TileType) -> Option<[f64; 2]> {
    match kind {
        TileType::Q4_0 | TileType::Q8_0 | TileType::MXFP4 => Some([0.5, 0.4]),
        TileType::Q4_1 | TileType::IQ4_NL => None,
        _ => Some([0.4, 0.3]),
    }
}

const TWO_THREADS: f64 = 1.6;

/// Seconds of the best round.
#[derive(Clone, Copy)]
struct Best(f64);

impl Best {
    fn time(&mut self, body: impl FnOnce()) {
        let start = Instant::now();
        body();
        self.0 = self.0.min(start.elapsed().as_secs_f64());
    }
}

/// Best seconds of a plain copy, and of upload and download on one and on two threads.
struct Times {
    copy: Best,
    upload: [Best; 2],
    download: [Best; 2],
}

fn measure(layout: TileLayout) -> Times {
    let mut rows: Vec<u8> = (0..layout.ggml_bytes()).map(|i| ((i * 7919) >> 3) as u8).collect();
    let (mut copied, mut tiles) = (vec![1; rows.len()], vec![1; layout.tiled_bytes()]);
    let mut times = Times { copy: Best(f64::MAX), upload: [Best(f64::MAX); 2], download: [Best(f64::MAX); 2] };
    for _ in 0..ROUNDS {
        times.copy.time(|| black_box(&mut copied).copy_from_slice(black_box(&rows)));
        for threads in 1..=2 {
            let layout = layout.with_threads(threads);
            times.upload[threads - 1].time(|| layout.write(&mut tiles, 0, &rows).expect("the whole tensor"));
            times.download[threads - 1].time(|| layout.read(&tiles, 0, &mut rows).expect("the whole tensor"));
        }
    }
    times
}

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    let named = |kind: &&TileType| std::env::args().any(|argument| argument == kind.name());
    let chosen: Vec<TileType> = TileType::ALL.iter().filter(named).copied().collect();
    let kinds = if chosen.is_empty() { TileType::ALL } else { &chosen };
    let mut missed = false;
    println!("type     copy      upload             2 threads   download           2 threads");
    for &kind in kinds {
        let layout = TileLayout::new(kind, NE).expect("a whole number of blocks");
        let times = measure(layout);
        let rate = |best: Best| layout.ggml_bytes() as f64 / best.0 / 1e9;
        let copy = rate(times.copy);
        print!("{:8} {copy:4.1} GB/s", kind.name());
        for (index, [one, two]) in [times.upload, times.download].into_iter().enumerate() {
            let (share, gain) = (rate(one) / copy, one.0 / two.0);
            print!("  {:4.1} GB/s = {share:.2}   x {gain:.2}   ", rate(one));
            missed |= aims(kind).is_some_and(|aims| share < aims[index] || gain < TWO_THREADS);
        }
        println!();
    }
    if check && missed {
        eprintln!("an aim was missed: see the head of benches/repack.rs");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
