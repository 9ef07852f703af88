//! Single weights: where the header says that a kernel finds the quant of row n, weight k, is what ggml says it is.

use super::super::{TileLayout, TileType};
use super::definition::{definition, quant, scales};
use super::noise;

/// The byte of lane `n`, word byte `byte`, of vector `vector` of a column tile.
fn at(column: &[u8], vector: usize, n: usize, byte: usize) -> u8 {
    column[128 * vector + 4 * n + byte]
}

/// The quant of weight `k` of row `n`, as the words of the header's comment have it.
fn from_tiles(kind: TileType, column: &[u8], n: usize, k: usize) -> u8 {
    let [quants, group, scales] = match kind {
        TileType::Q4_0 | TileType::IQ4_NL => [4, 2, 1],
        TileType::Q8_0 => [8, 2, 1],
        TileType::Q4_1 => [4, 2, 2],
        TileType::MXFP4 => [4, 4, 1],
        TileType::Q5_0 => [5, 2, 1],
        TileType::Q5_1 => [5, 2, 2],
        TileType::Q4_K => [4, 8, 4],
        TileType::Q5_K => [5, 8, 4],
        TileType::Q6_K => [6, 16, 9],
        TileType::Q3_K => [3, 16, 7],
        TileType::Q2_K => [2, 8, 5],
        TileType::IQ4_XS => [4, 8, 2],
    };
    let (k_block, k) = (k / 32, k % 32);
    let first = k_block * quants + k_block / group * scales;
    let nibble = || at(column, first + k / 8, n, k % 4) >> if k % 8 < 4 { 0 } else { 4 } & 15;
    let pair = |from: usize| at(column, first + from + k / 16, n, k % 4) >> (2 * (k % 16 / 4)) & 3;
    let bit = |from: usize| at(column, first + from, n, k % 4) >> (k / 4) & 1;
    match kind {
        TileType::Q8_0 => at(column, first + k / 4, n, k % 4),
        TileType::Q5_0 | TileType::Q5_1 | TileType::Q5_K => nibble() + 16 * bit(4),
        TileType::Q6_K => nibble() + 16 * pair(4),
        TileType::Q3_K => pair(0) + 4 * bit(2),
        TileType::Q2_K => pair(0),
        _ => nibble(),
    }
}

#[test]
fn every_weight_is_where_the_header_says() {
    for &kind in TileType::ALL {
        let d = definition(kind);
        // A group and a part of one.
        let blocks = d.scale_group * 32 / d.block_elements + 1;
        let ne = [blocks * d.block_elements, 32, 1, 1];
        let layout = TileLayout::new(kind, ne).unwrap();
        let rows = noise(layout.ggml_bytes(), 17);
        let mut column = vec![0; layout.tiled_bytes()];
        layout.init_padding(&mut column).unwrap();
        layout.write(&mut column, 0, &rows).unwrap();
        for (n, row) in rows.chunks_exact(layout.row_bytes()).enumerate() {
            for (index, block) in row.chunks_exact(d.block_bytes).enumerate() {
                for k in 0..d.block_elements {
                    let found = from_tiles(kind, &column, n, index * d.block_elements + k);
                    assert_eq!(found, quant(kind, block, k), "{}, row {n}, block {index}, weight {k}", kind.name());
                }
            }
        }
    }
}

#[test]
fn quants_and_scales_are_all_of_a_block() {
    // Two blocks that differ in one bit differ in one quant, in one bit, or in one bit of the scales.
    for &kind in TileType::ALL {
        let d = definition(kind);
        let places = d.scale_group * 32 / d.block_elements;
        let block = noise(d.block_bytes, 23);
        let rest = noise(d.block_bytes, 24);
        let decode = |block: &[u8]| {
            let mut all: Vec<u8> = (0..d.block_elements).map(|k| quant(kind, block, k)).collect();
            let mut group = vec![rest.clone(); places];
            group[places - 1] = block.to_vec();
            all.extend(scales(kind, &group));
            all
        };
        let whole = decode(&block);
        for bit in 0..8 * d.block_bytes {
            let mut other = block.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            let changed: u32 = decode(&other).iter().zip(&whole).map(|(a, b)| (a ^ b).count_ones()).sum();
            assert_eq!(changed, 1, "{}, bit {bit}", kind.name());
        }
    }
}
