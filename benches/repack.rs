//! Upload and download of weights, against a plain copy of as many bytes in the same run.
//!
//! `cargo bench --bench repack`. Aims: on one thread, upload at half and download at two fifths of the copy's speed;
//! on two threads, 1.6 times the speed of one.

#![allow(missing_docs)] // of the functions that criterion makes

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use ggml_hexagon::layout::{TileLayout, TileType};

/// K and N of a usual weight matrix, larger than the caches next to a core.
const NE: [usize; 4] = [4096, 4096, 1, 1];

fn repack(criterion: &mut Criterion) {
    for &kind in TileType::ALL {
        let layout = TileLayout::new(kind, NE).expect("a whole number of blocks");
        let mut rows: Vec<u8> = (0..layout.ggml_bytes()).map(|i| ((i * 7919) >> 3) as u8).collect();
        let mut tiles = vec![1; layout.tiled_bytes()];

        let mut group = criterion.benchmark_group(kind.name());
        group.throughput(Throughput::Bytes(layout.ggml_bytes() as u64));
        group.bench_function("copy", |bench| bench.iter(|| tiles[..rows.len()].copy_from_slice(&rows)));
        for threads in [1, 2] {
            let layout = layout.with_threads(threads);
            group
                .bench_function(format!("upload/{threads}"), |bench| bench.iter(|| layout.write(&mut tiles, 0, &rows)));
            group.bench_function(format!("download/{threads}"), |bench| {
                bench.iter(|| layout.read(&tiles, 0, &mut rows));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, repack);
criterion_main!(benches);
