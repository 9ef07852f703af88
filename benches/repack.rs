//! Upload and download of weights, in GB/s of ggml's bytes and as a share of a plain copy of as many bytes.
//!
//! `cargo bench --bench repack`. Aims: on one thread, upload at half and download at two fifths of the copy's speed;
//! on two threads, 1.6 times the speed of one. `--check` after `--` fails when one is missed.
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

/// Types that the aims are about; the others are reported.
const AIMED: [TileType; 3] = [TileType::Q4_0, TileType::Q8_0, TileType::MXFP4];
const UPLOAD_SHARE: f64 = 0.5;
const DOWNLOAD_SHARE: f64 = 0.4;
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
    let mut missed = false;
    println!("type     copy      upload             2 threads   download           2 threads");
    for &kind in TileType::ALL {
        let layout = TileLayout::new(kind, NE).expect("a whole number of blocks");
        let times = measure(layout);
        let rate = |best: Best| layout.ggml_bytes() as f64 / best.0 / 1e9;
        let copy = rate(times.copy);
        print!("{:8} {copy:4.1} GB/s", kind.name());
        for ([one, two], aim) in [(times.upload, UPLOAD_SHARE), (times.download, DOWNLOAD_SHARE)] {
            let (share, gain) = (rate(one) / copy, one.0 / two.0);
            print!("  {:4.1} GB/s = {share:.2}   x {gain:.2}   ", rate(one));
            missed |= AIMED.contains(&kind) && (share < aim || gain < TWO_THREADS);
        }
        println!();
    }
    if check && missed {
        eprintln!("an aim was missed: see the head of benches/repack.rs");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
