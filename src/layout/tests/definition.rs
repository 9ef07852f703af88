//! The definitions: ggml's of a block, and that of `include/htp/tiles.h` of tiles. Slow, weight by weight, and sharing
//! nothing with the code under test.

use super::super::TileType;

/// Where quants of a K-block lie in its vectors.
#[derive(Clone, Copy)]
pub enum Plane {
    Nibbles,
    Bytes,
    Pairs,
    Bits,
}

impl Plane {
    pub fn vectors(self) -> usize {
        match self {
            Plane::Nibbles => 4,
            Plane::Bytes => 8,
            Plane::Pairs => 2,
            Plane::Bits => 1,
        }
    }

    pub fn width(self) -> usize {
        match self {
            Plane::Nibbles => 4,
            Plane::Bytes => 8,
            Plane::Pairs => 2,
            Plane::Bits => 1,
        }
    }

    /// Vector, byte and lowest bit of the part of weight `k`.
    pub fn place(self, k: usize) -> (usize, usize, usize) {
        match self {
            Plane::Nibbles => (k / 8, k % 4, k % 8 / 4 * 4),
            Plane::Bytes => (k / 4, k % 4, 0),
            Plane::Pairs => (k / 16, k % 4, k % 16 / 4 * 2),
            Plane::Bits => (0, k % 4, k / 4),
        }
    }
}

/// What the definitions say of a type.
pub struct Definition {
    pub block_elements: usize,
    pub block_bytes: usize,
    /// The planes of a quant, lowest bits first.
    pub planes: &'static [Plane],
    /// K-blocks of a scale group.
    pub scale_group: usize,
    pub scale_vectors: usize,
}

pub fn definition(kind: TileType) -> Definition {
    use Plane::*;
    let new = |block_elements, block_bytes, planes, scale_group, scale_vectors| Definition {
        block_elements,
        block_bytes,
        planes,
        scale_group,
        scale_vectors,
    };
    match kind {
        TileType::Q4_0 | TileType::IQ4_NL => new(32, 18, &[Nibbles], 2, 1),
        TileType::Q8_0 => new(32, 34, &[Bytes], 2, 1),
        TileType::Q4_1 => new(32, 20, &[Nibbles], 2, 2),
        TileType::MXFP4 => new(32, 17, &[Nibbles], 4, 1),
        TileType::Q5_0 => new(32, 22, &[Nibbles, Bits], 2, 1),
        TileType::Q5_1 => new(32, 24, &[Nibbles, Bits], 2, 2),
        TileType::Q4_K => new(256, 144, &[Nibbles], 8, 4),
        TileType::Q5_K => new(256, 176, &[Nibbles, Bits], 8, 4),
        TileType::Q6_K => new(256, 210, &[Nibbles, Pairs], 16, 9),
        TileType::Q3_K => new(256, 110, &[Pairs, Bits], 16, 7),
        TileType::Q2_K => new(256, 84, &[Pairs], 8, 5),
        TileType::IQ4_XS => new(256, 136, &[Nibbles], 8, 2),
    }
}

/// ggml's definition: the unsigned quant of weight `k` of a block.
pub fn quant(kind: TileType, block: &[u8], k: usize) -> u8 {
    // Of 32 weights, i and i + 16 share a byte.
    let halves = |bytes: &[u8], k: usize| bytes[k % 16] >> (k / 16 * 4) & 15;
    // Of 64 weights, i and i + 32 share a byte.
    let chunks = |bytes: &[u8]| bytes[k / 64 * 32 + k % 32] >> (k % 64 / 32 * 4) & 15;
    // Of 128 weights, i, i + 32, i + 64 and i + 96 share a byte.
    let pairs = |bytes: &[u8]| bytes[k / 128 * 32 + k % 32] >> (k % 128 / 32 * 2) & 3;
    // Of 256 weights, those 32 apart share a byte.
    let bits = |bytes: &[u8]| bytes[k % 32] >> (k / 32) & 1;
    match kind {
        TileType::Q4_0 | TileType::IQ4_NL => halves(&block[2..], k),
        TileType::Q4_1 => halves(&block[4..], k),
        TileType::MXFP4 => halves(&block[1..], k),
        TileType::Q8_0 => (i16::from(block[2 + k] as i8) + 128) as u8,
        TileType::Q5_0 => halves(&block[6..], k) | (block[2 + k / 8] >> (k % 8) & 1) << 4,
        TileType::Q5_1 => halves(&block[8..], k) | (block[4 + k / 8] >> (k % 8) & 1) << 4,
        TileType::Q4_K => chunks(&block[16..]),
        TileType::Q5_K => chunks(&block[48..]) | bits(&block[16..]) << 4,
        TileType::Q6_K => {
            // Of 128 weights, i and i + 64 share one of 64 bytes.
            let low = block[k / 128 * 64 + k % 64] >> (k % 128 / 64 * 4) & 15;
            low | pairs(&block[128..]) << 4
        }
        TileType::Q3_K => pairs(&block[32..]) | bits(block) << 2,
        TileType::Q2_K => pairs(&block[16..]),
        TileType::IQ4_XS => halves(&block[8 + k / 32 * 16..], k % 32),
    }
}

/// The words of one row in the scale vectors of a group, from the group's blocks.
pub fn scales(kind: TileType, blocks: &[Vec<u8>]) -> Vec<u8> {
    let parts = |range: std::ops::Range<usize>| blocks.iter().flat_map(move |block| block[range.clone()].to_vec());
    match kind {
        TileType::Q4_0 | TileType::IQ4_NL | TileType::Q8_0 | TileType::Q5_0 => parts(0..2).collect(),
        TileType::Q4_1 | TileType::Q5_1 => parts(0..2).chain(parts(2..4)).collect(),
        TileType::MXFP4 => parts(0..1).collect(),
        TileType::Q4_K | TileType::Q5_K => parts(0..16).collect(),
        TileType::IQ4_XS => parts(0..8).collect(),
        TileType::Q2_K => parts(80..84).chain(parts(0..16)).collect(),
        TileType::Q6_K => parts(192..208).chain(parts(208..210)).collect(),
        TileType::Q3_K => parts(96..108).chain(parts(108..110)).collect(),
    }
}

/// The block of a row that holds the weights from `block * block_elements` on. Blocks that do not exist (rows that pad
/// a tile, places that stay unused) are zero.
fn block_of(d: &Definition, ne: [usize; 4], rows: &[u8], [matrix, row, block]: [usize; 3]) -> Vec<u8> {
    let blocks = ne[0] / d.block_elements;
    if row >= ne[1] || block >= blocks {
        return vec![0; d.block_bytes];
    }
    rows[((matrix * ne[1] + row) * blocks + block) * d.block_bytes..][..d.block_bytes].to_vec()
}

/// The tiles of `rows`, byte by byte.
pub fn tiles_by_definition(kind: TileType, ne: [usize; 4], rows: &[u8]) -> Vec<u8> {
    let d = definition(kind);
    let (blocks, in_group) = (ne[0] / d.block_elements, d.scale_group * 32 / d.block_elements);
    let mut tiles = Vec::new();
    for matrix in 0..ne[2] * ne[3] {
        for column in 0..ne[1].div_ceil(32) {
            for group in 0..blocks.div_ceil(in_group) {
                let lanes: Vec<Vec<Vec<u8>>> = (0..32)
                    .map(|lane| {
                        let block = |place| [matrix, column * 32 + lane, group * in_group + place];
                        (0..in_group).map(|place| block_of(&d, ne, rows, block(place))).collect()
                    })
                    .collect();
                let places = in_group.min(blocks - group * in_group);
                for first in (0..places * d.block_elements).step_by(32) {
                    let (place, first) = (first / d.block_elements, first % d.block_elements);
                    let mut shift = 0;
                    for plane in d.planes {
                        let mut vectors = vec![0u8; 128 * plane.vectors()];
                        for (lane, blocks) in lanes.iter().enumerate() {
                            // Padding rows hold zero blocks: as the bytes of a block, not as the number 0.
                            for k in 0..32 {
                                let quant = quant(kind, &blocks[place], first + k);
                                let (vector, byte, bit) = plane.place(k);
                                let part = u32::from(quant) >> shift & ((1 << plane.width()) - 1);
                                vectors[128 * vector + 4 * lane + byte] |= (part << bit) as u8;
                            }
                        }
                        tiles.extend(vectors);
                        shift += plane.width();
                    }
                }
                let words: Vec<Vec<u8>> = lanes.iter().map(|blocks| scales(kind, blocks)).collect();
                for vector in 0..d.scale_vectors {
                    words.iter().for_each(|words| tiles.extend(&words[4 * vector..][..4]));
                }
            }
        }
    }
    tiles
}
