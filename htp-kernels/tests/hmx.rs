//! Which products run on the matrix unit: those with many rows, in sessions that may use it. Responses say how many ops
//! of a batch did.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;
#[path = "common/local.rs"]
mod local;

use common::scene::*;
use common::*;
use local::{declare, undeclare, Runtime};

const K: u32 = 64;
const N: u32 = 32;
const OUT_AT: usize = 65536;

/// f32 bits of the sum, and how many ops used the matrix unit, of a product with `rows` rows.
fn product(use_hmx: bool, rows: u32) -> (Vec<f32>, u32) {
    let runtime = Runtime::start_with(3, use_hmx);
    let (command, data) = (Shared::new(COMMAND_BYTES), Shared::new(DATA_BYTES));
    declare(&command);
    declare(&data);
    // small integers: every way of computing is exact; weights are f16
    let weights: Vec<u8> = (0..K * N).flat_map(|i| if i % 3 == 0 { [0, 0x3c] } else { [0, 0xc0] }).collect();
    let x: Vec<f32> = (0..K * rows).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
    data.write(B_AT, &weights);
    data.write_f32(16384, &x);
    let mut scene = Scene::new(&command, &data);
    let strides = |size: u32, n: u32, m: u32| [size, size * n, size * n * m, size * n * m];
    let tensor = |kind, offset: usize, ne: [u32; 2], size| Tensor {
        buffer: 0,
        kind,
        layout: ROWS,
        offset: offset as u64,
        ne: [ne[0], ne[1], 1, 1],
        nb: strides(size, ne[0], ne[1]),
    };
    scene.tensors =
        vec![tensor(F16, B_AT, [K, N], 2), tensor(F32, 16384, [K, rows], 4), tensor(F32, OUT_AT, [N, rows], 4)];
    let mut op = Op { op: MUL_MAT, dst: 2, n_src: 2, src: [NO_TENSOR; 8], ..Op::default() };
    op.src[..2].copy_from_slice(&[0, 1]);
    scene.ops = vec![op];
    scene.lay_out();
    scene.store(&command);
    let response = runtime.packet(&scene.request.bytes());
    assert_eq!((response.status, response.ops_done), (OK, 1));
    undeclare(&command);
    undeclare(&data);
    (data.read_f32(OUT_AT, (N * rows) as usize), response.detail)
}

#[test]
fn many_rows_use_it_where_they_may() {
    let (with, used) = product(true, 40);
    assert_eq!(used, 1);
    let (without, used) = product(false, 40);
    assert_eq!(used, 0);
    assert_eq!(with, without);
    assert_eq!(product(true, 8).1, 0);
}
