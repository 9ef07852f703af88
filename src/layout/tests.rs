//! Tiles against the definition in `include/htp/tiles.h`, and transfers against a plain vector of ggml's bytes.
//!
//! - `definition`: ggml's blocks and the header's tiles, weight by weight
//! - `weights`: single weights found in tiles

#![allow(clippy::unwrap_used)]

mod definition;
mod weights;

use std::ops::Range;

use proptest::prelude::*;

use super::{LayoutError, TileLayout, TileType};
use definition::{definition, tiles_by_definition};

/// Bytes behind the tiles that nothing may touch.
const GUARD: [u8; 64] = [0xa5; 64];

/// Bytes without a pattern that could hide an exchange.
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

fn guarded(layout: &TileLayout) -> Vec<u8> {
    let mut memory = noise(layout.tiled_bytes(), 99);
    memory.extend(GUARD);
    memory
}

fn check_guard(layout: &TileLayout, memory: &[u8]) {
    assert_eq!(memory[layout.tiled_bytes()..], GUARD, "bytes behind the tiles were written");
}

/// All bytes zero, as ggml sees them.
fn clear(layout: &TileLayout, tiles: &mut [u8]) {
    layout.init_padding(tiles).unwrap();
    layout.fill(tiles, 0, layout.ggml_bytes(), 0).unwrap();
}

fn kinds() -> impl Strategy<Value = TileType> {
    prop::sample::select(TileType::ALL)
}

/// Small tensors of every form: odd and even numbers of blocks, partial strips, several matrices.
fn layouts() -> impl Strategy<Value = TileLayout> {
    (kinds(), 1usize..=7, 1usize..=100, 1usize..=3, 1usize..=2).prop_map(|(kind, blocks, n, ne2, ne3)| {
        let blocks = if kind.block_elements() == 32 { blocks } else { blocks.div_ceil(2) };
        TileLayout::new(kind, [kind.block_elements() * blocks, n, ne2, ne3]).unwrap()
    })
}

/// A range inside `len` bytes from two fractions of it.
fn range(len: usize, a: f64, b: f64) -> Range<usize> {
    let (a, b) = ((a * (len + 1) as f64) as usize, (b * (len + 1) as f64) as usize);
    a.min(b).min(len)..a.max(b).min(len)
}

#[derive(Clone, Debug)]
enum Step {
    Write(f64, f64, u64),
    Fill(f64, f64, u8),
    Read(f64, f64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Ends are drawn freely, or near each other for ranges inside a row or a block.
    let ends =
        || prop_oneof![(0.0..1.0, 0.0..1.0), (0.0..1.0, 0.0..0.01).prop_map(|(a, d)| (a, f64::min(a + d, 0.9999)))];
    let step = prop_oneof![
        3 => (ends(), any::<u64>()).prop_map(|((a, b), seed)| Step::Write(a, b, seed)),
        1 => (ends(), any::<u8>()).prop_map(|((a, b), byte)| Step::Fill(a, b, byte)),
        2 => ends().prop_map(|(a, b)| Step::Read(a, b)),
    ];
    prop::collection::vec(step, 1..12)
}

proptest! {
    #[test]
    fn any_transfers_equal_a_vector_of_bytes(layout in layouts(), steps in steps()) {
        let size = layout.ggml_bytes();
        let (mut model, mut tiles) = (vec![0u8; size], guarded(&layout));
        clear(&layout, &mut tiles);
        for step in steps {
            match step {
                Step::Write(a, b, seed) => {
                    let range = range(size, a, b);
                    let data = noise(range.len(), seed);
                    layout.write(&mut tiles, range.start, &data).unwrap();
                    model[range].copy_from_slice(&data);
                }
                Step::Fill(a, b, byte) => {
                    let range = range(size, a, b);
                    layout.fill(&mut tiles, range.start, range.len(), byte).unwrap();
                    model[range].fill(byte);
                }
                Step::Read(a, b) => {
                    let range = range(size, a, b);
                    let mut out = vec![0xee; range.len()];
                    layout.read(&tiles, range.start, &mut out).unwrap();
                    prop_assert_eq!(&out, &model[range]);
                }
            }
            prop_assert!(tiles[..layout.tiled_bytes()] == tiles_by_definition(layout.tile_type(), layout.ne(), &model));
            check_guard(&layout, &tiles);
        }
        let mut all = vec![0xee; size];
        layout.read(&tiles, 0, &mut all).unwrap();
        prop_assert!(all == model);
    }

    #[test]
    fn padding_alone_is_enough_before_a_whole_write(layout in layouts(), seed: u64, piece in 1usize..5000) {
        let rows = noise(layout.ggml_bytes(), seed);
        let mut tiles = guarded(&layout);
        layout.init_padding(&mut tiles).unwrap();
        for (index, data) in rows.chunks(piece).enumerate() {
            layout.write(&mut tiles, index * piece, data).unwrap();
        }
        prop_assert!(tiles[..layout.tiled_bytes()] == tiles_by_definition(layout.tile_type(), layout.ne(), &rows));
        check_guard(&layout, &tiles);
    }

    #[test]
    fn views_are_found_where_their_tiles_are(
        layout in layouts(), at in 0.0..1.0f64, share in 0.0..1.0f64, matrices in 1usize..=4, byte in 0usize..2,
    ) {
        let [k, n, ne2, ne3] = layout.ne();
        let all = n * ne2 * ne3;
        // Often a start that is good for something.
        let row = (all as f64 * at) as usize / [1, 32, n][byte + matrices % 2] * [1, 32, n][byte + matrices % 2];
        let rows = if matrices == 1 { 1 + ((all - row) as f64 * share) as usize } else { n };
        let offset = row * layout.row_bytes() + byte * usize::from(share < 0.1);
        let ne = [k, rows, matrices, 1];
        let found = layout.view_offset(ne, offset);
        let end = row + rows * matrices;
        if end > all || offset % layout.row_bytes() != 0 {
            prop_assert_eq!(found, None);
            return Ok(());
        }
        let data = noise(layout.ggml_bytes(), 5);
        let mut tiles = guarded(&layout);
        layout.init_padding(&mut tiles).unwrap();
        layout.write(&mut tiles, 0, &data).unwrap();
        // The view as a tensor of its own. Rows that pad its last tile may be others of the tensor.
        let view = TileLayout::new(layout.tile_type(), ne).unwrap();
        let mut of_view = vec![0xee; view.ggml_bytes()];
        match found {
            Some(found) => {
                view.read(&tiles[found..layout.tiled_bytes()], 0, &mut of_view).unwrap();
                prop_assert!(of_view == data[offset..][..of_view.len()]);
            }
            None => prop_assert!(row % n % 32 != 0 || (row % n + rows > n && n % 32 != 0)),
        }
    }
}

#[test]
fn several_threads_do_the_same() {
    // More than the size from which threads are used, with an end of each kind.
    for &kind in TileType::ALL {
        let ne = [256 * 7, 32 * 40 + 5, 2, 2];
        let one = TileLayout::new(kind, ne).unwrap().with_threads(1);
        let three = one.with_threads(3);
        let rows = noise(one.ggml_bytes(), 3);
        assert!(rows.len() > 5 << 19, "enough for every transfer below");
        let (mut serial, mut parallel) = (guarded(&one), guarded(&one));
        for (layout, tiles) in [(&one, &mut serial), (&three, &mut parallel)] {
            clear(layout, tiles);
            layout.write(tiles, 12_345, &rows[12_345..rows.len() - 777]).unwrap();
            layout.fill(tiles, 100, 2_500_000, 0x3c).unwrap();
            check_guard(layout, tiles);
        }
        assert!(serial == parallel);
        let (mut from_one, mut from_three) = (vec![0; rows.len() - 51], vec![1; rows.len() - 51]);
        one.read(&serial, 50, &mut from_one).unwrap();
        three.read(&serial, 50, &mut from_three).unwrap();
        assert!(from_one == from_three);
        assert!(from_one[2_500_100 - 50..rows.len() - 777 - 50] == rows[2_500_100..rows.len() - 777]);
    }
}

#[test]
fn sizes() {
    // 2 K-blocks, 3 column tiles: ggml's bytes and padding for 30 rows more.
    let layout = TileLayout::new(TileType::Q4_0, [64, 66, 1, 1]).unwrap();
    assert_eq!(layout.ggml_bytes(), 66 * 36);
    assert_eq!(layout.column_bytes(), 32 * 36);
    assert_eq!(layout.matrix_bytes(), 96 * 36);
    assert_eq!(layout.tiled_bytes(), 96 * 36);
    // An odd block has a scale vector of its own: 64 bytes of padding a column tile.
    let layout = TileLayout::new(TileType::Q8_0, [96, 32, 2, 3]).unwrap();
    assert_eq!(layout.column_bytes(), 32 * 3 * 34 + 64);
    assert_eq!(layout.tiled_bytes(), 6 * (32 * 3 * 34 + 64));
    // Two scale vectors each for Q4_1; for MXFP4 one that holds four blocks, of which three are not there.
    let layout = TileLayout::new(TileType::Q4_1, [96, 32, 1, 1]).unwrap();
    assert_eq!(layout.column_bytes(), 32 * 3 * 20 + 128);
    let layout = TileLayout::new(TileType::MXFP4, [160, 32, 1, 1]).unwrap();
    assert_eq!(layout.column_bytes(), 32 * 5 * 17 + 96);
    // Blocks of 256: four scale vectors each for Q4_K; two blocks of Q6_K share nine, all of them are there for one.
    let layout = TileLayout::new(TileType::Q4_K, [768, 33, 1, 1]).unwrap();
    assert_eq!(layout.ggml_bytes(), 33 * 3 * 144);
    assert_eq!(layout.tiled_bytes(), 64 * 3 * 144);
    let layout = TileLayout::new(TileType::Q6_K, [768, 32, 1, 1]).unwrap();
    assert_eq!(layout.column_bytes(), 32 * 3 * 210 + 32 * 18);
}

#[test]
fn impossible_tensors_have_no_layout() {
    for ne in [[31, 1, 1, 1], [33, 32, 1, 1], [0, 32, 1, 1], [32, 0, 1, 1], [32, 32, 0, 1], [32, 32, 1, 0]] {
        assert_eq!(TileLayout::new(TileType::Q4_0, ne), None, "{ne:?}");
    }
    for k in [1, 32, 128, 255, 288] {
        assert_eq!(TileLayout::new(TileType::Q6_K, [k, 32, 1, 1]), None, "{k} weights are no whole blocks of 256");
    }
    let huge = usize::MAX / 256 * 256;
    for ne in [
        [huge, 1, 1, 1],
        [256, usize::MAX, 1, 1],
        [256, 1, usize::MAX, 1],
        [256, 1, 1, usize::MAX],
        [256, 32, 1 << (usize::BITS / 2), 1 << (usize::BITS / 2)],
        [1 << (usize::BITS / 2), 1 << (usize::BITS / 2 - 1), 4, 1],
        [256, 1, 1 << (usize::BITS - 10), 1],
    ] {
        for &kind in TileType::ALL {
            assert_eq!(TileLayout::new(kind, ne), None, "{ne:?}");
        }
    }
}

#[test]
fn refusals_write_nothing() {
    let layout = TileLayout::new(TileType::Q8_0, [64, 40, 1, 1]).unwrap();
    let size = layout.ggml_bytes();
    let before = guarded(&layout);
    let mut tiles = before.clone();
    let outside = |offset, len| LayoutError::OutOfRange { offset, len, size };
    assert_eq!(layout.write(&mut tiles, size - 9, &[1; 10]), Err(outside(size - 9, 10)));
    assert_eq!(layout.write(&mut tiles, usize::MAX, &[1; 10]), Err(outside(usize::MAX, 10)));
    assert_eq!(layout.write(&mut tiles, size + 1, &[]), Err(outside(size + 1, 0)));
    assert_eq!(layout.fill(&mut tiles, 1, size, 7), Err(outside(1, size)));
    assert_eq!(layout.fill(&mut tiles, 1, usize::MAX, 7), Err(outside(1, usize::MAX)));
    assert_eq!(layout.read(&tiles, size, &mut [0]), Err(outside(size, 1)));

    let (have, need) = (layout.tiled_bytes() - 1, layout.tiled_bytes());
    let small = Err(LayoutError::TilesTooSmall { have, need });
    assert_eq!(layout.write(&mut tiles[..have], 0, &[1]), small);
    assert_eq!(layout.fill(&mut tiles[..have], 0, 1, 1), small);
    assert_eq!(layout.read(&tiles[..have], 0, &mut [0]), small);
    assert_eq!(layout.init_padding(&mut tiles[..have]), small);
    assert!(tiles == before);
    // At the very end there is room for nothing, which is allowed.
    assert_eq!(layout.write(&mut tiles, size, &[]), Ok(()));
    assert!(tiles == before);
}

#[test]
fn the_header_lists_these_types() {
    let header = include_str!("../../include/htp/tiles.h");
    let define = |name: &str| -> usize {
        let line = header.lines().find(|line| line.starts_with(&format!("#define {name} "))).unwrap();
        line.split_whitespace().nth(2).unwrap().parse().unwrap()
    };
    assert_eq!(define("HTP_TILE_DIM"), super::TILE_DIM);
    assert_eq!(define("HTP_TILE_VECTOR"), super::VECTOR_BYTES);

    let lines = header.lines().skip_while(|line| !line.starts_with("#define HTP_TILE_TYPE_LIST(X)"));
    let listed: Vec<(String, [usize; 4])> = lines
        .skip(1)
        .map_while(|line| line.trim().strip_prefix("X("))
        .map(|line| {
            let mut fields = line.split(')').next().unwrap().split(',').map(str::trim);
            let name = fields.next().unwrap().to_string();
            (name, std::array::from_fn(|_| fields.next().unwrap().parse().unwrap()))
        })
        .collect();
    let ours: Vec<(String, [usize; 4])> = TileType::ALL
        .iter()
        .map(|t| (t.name().into(), [t.quant_vectors(), t.scale_group(), t.scale_vectors(), t.zero().into()]))
        .collect();
    assert_eq!(listed, ours);
    for &kind in TileType::ALL {
        let d = definition(kind);
        let of_definition = (d.block_elements, d.block_bytes, d.scale_group, d.scale_vectors);
        let ours = (kind.block_elements(), kind.block_bytes(), kind.scale_group(), kind.scale_vectors());
        assert_eq!(ours, of_definition, "{}", kind.name());
    }
}
