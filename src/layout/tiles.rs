//! The types that have tiles, and the sizes and places of a tensor in them.

use super::format::Format;
use super::iq4_nl::Iq4Nl;
use super::iq4_xs::Iq4Xs;
use super::mxfp4::Mxfp4;
use super::q2_k::Q2K;
use super::q3_k::Q3K;
use super::q4_0::Q4_0;
use super::q4_1::Q4_1;
use super::q4_k::Q4K;
use super::q5_0::Q5_0;
use super::q5_1::Q5_1;
use super::q5_k::Q5K;
use super::q6_k::Q6K;
use super::q8_0::Q8_0;
use super::{parallel, LayoutError, TILE_DIM, VECTOR_BYTES};

macro_rules! tile_types {
    ($($name:ident = $format:expr, $doc:literal;)*) => {
        /// A type of weights that the kernels load as tiles: the list of `include/htp/tiles.h`.
        #[allow(non_camel_case_types, reason = "ggml's names of its block formats")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum TileType {
            $(#[doc = $doc] $name,)*
        }

        impl TileType {
            /// Every type, in the header's order.
            pub const ALL: &'static [TileType] = &[$(TileType::$name),*];

            /// The name in ggml and in `include/htp/tiles.h`.
            pub fn name(self) -> &'static str {
                match self {
                    $(TileType::$name => stringify!($name),)*
                }
            }

            pub(super) fn format(self) -> &'static Format {
                match self {
                    $(TileType::$name => {
                        static FORMAT: Format = $format;
                        &FORMAT
                    })*
                }
            }
        }
    };
}

tile_types! {
    Q4_0 = Format::of::<4, Q4_0>(), "4-bit quants with an f16 scale a block of 32.";
    Q8_0 = Format::of::<8, Q8_0>(), "8-bit quants with an f16 scale a block of 32.";
    Q4_1 = Format::of::<4, Q4_1>(), "4-bit quants with an f16 scale and an f16 minimum a block of 32.";
    MXFP4 = Format::of::<4, Mxfp4>(), "4-bit floats with an exponent a block of 32.";
    IQ4_NL = Format::of::<4, Iq4Nl>(), "4-bit indices into a table, with an f16 scale a block of 32.";
    Q5_0 = Format::of::<5, Q5_0>(), "5-bit quants with an f16 scale a block of 32.";
    Q5_1 = Format::of::<5, Q5_1>(), "5-bit quants with an f16 scale and an f16 minimum a block of 32.";
    Q4_K = Format::of_super::<32, 4, Q4K>(), "4-bit quants with a 6-bit scale and minimum each 32, in blocks of 256.";
    Q5_K = Format::of_super::<40, 4, Q5K>(), "5-bit quants with a 6-bit scale and minimum each 32, in blocks of 256.";
    Q6_K = Format::of_super::<48, 4, Q6K>(), "6-bit quants with an 8-bit scale each 16, in blocks of 256.";
    Q3_K = Format::of_super::<24, 3, Q3K>(), "3-bit quants with a 6-bit scale each 16, in blocks of 256.";
    Q2_K = Format::of_super::<16, 5, Q2K>(), "2-bit quants with a 4-bit scale and minimum each 16, in blocks of 256.";
    IQ4_XS = Format::of_super::<32, 2, Iq4Xs>(), "4-bit indices into a table, with a 6-bit scale each 32; blocks of 256.";
}

impl TileType {
    /// Weights of a block in ggml's layout: K is a multiple of it.
    pub fn block_elements(self) -> usize {
        self.format().block_elements
    }

    /// Bytes of a block in ggml's layout.
    pub fn block_bytes(self) -> usize {
        self.format().block_bytes
    }

    /// Vectors of quants of a 32x32 tile.
    pub fn quant_vectors(self) -> usize {
        self.format().quant_vectors
    }

    /// Which unsigned operand of the kernels stands for 0.
    pub fn zero(self) -> u8 {
        self.format().zero
    }

    /// K-blocks that share scale vectors.
    pub fn scale_group(self) -> usize {
        self.format().scale_group
    }

    /// Scale vectors of such a group.
    pub fn scale_vectors(self) -> usize {
        self.format().scale_vectors
    }
}

/// The tile layout of one tensor of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileLayout {
    kind: TileType,
    ne: [usize; 4],
    threads: usize,
}

impl TileLayout {
    /// The layout of a contiguous tensor with ggml's dimensions `ne` = K, N, and two more of matrices.
    ///
    /// `None` when there is none: K is not a multiple of the type's block, a dimension is zero, or the size overflows.
    pub fn new(kind: TileType, ne: [usize; 4]) -> Option<TileLayout> {
        if ne.contains(&0) || ne[0] % kind.block_elements() != 0 {
            return None;
        }
        let layout = TileLayout { kind, ne, threads: parallel::default_threads() };
        let (format, blocks) = (kind.format(), layout.k_blocks());
        let scales = blocks.div_ceil(format.scale_group).checked_mul(format.scale_vectors)?;
        let vectors = blocks.checked_mul(format.quant_vectors)?.checked_add(scales)?;
        let columns = layout.columns().checked_mul(ne[2])?.checked_mul(ne[3])?;
        let bytes = vectors.checked_mul(VECTOR_BYTES)?.checked_mul(columns)?;
        // Tiles are never smaller than ggml's rows, so every other size and offset fits too.
        (bytes <= isize::MAX as usize).then_some(layout)
    }

    /// The same layout with transfers on at most `threads` threads, the caller's included. Without this call, as many
    /// as the machine runs at once, up to four.
    pub fn with_threads(self, threads: usize) -> TileLayout {
        TileLayout { threads, ..self }
    }

    /// The type of the weights.
    pub fn tile_type(&self) -> TileType {
        self.kind
    }

    /// Whether tiles of both are the same.
    pub fn is_same(&self, other: &TileLayout) -> bool {
        (self.kind, self.ne) == (other.kind, other.ne)
    }

    /// ggml's dimensions.
    pub fn ne(&self) -> [usize; 4] {
        self.ne
    }

    /// Bytes of the whole tensor in ggml's layout.
    pub fn ggml_bytes(&self) -> usize {
        self.row_bytes() * self.ne[1] * self.matrices()
    }

    /// Bytes of the whole tensor in tiles, padding included: never less than [`TileLayout::ggml_bytes`].
    pub fn tiled_bytes(&self) -> usize {
        self.matrix_bytes() * self.matrices()
    }

    /// Bytes of a matrix in tiles.
    pub fn matrix_bytes(&self) -> usize {
        self.column_bytes() * self.columns()
    }

    /// Bytes of a column tile: 32 rows.
    pub fn column_bytes(&self) -> usize {
        let format = self.kind.format();
        let scales = self.k_blocks().div_ceil(format.scale_group) * format.scale_vectors;
        VECTOR_BYTES * (self.k_blocks() * format.quant_vectors + scales)
    }

    /// Bytes of a row in ggml's layout.
    pub fn row_bytes(&self) -> usize {
        self.blocks() * self.kind.block_bytes()
    }

    /// Where in the tiles a contiguous view of dimensions `ne` begins that starts at ggml's byte `offset`; `None` when a
    /// kernel cannot read it as tiles.
    ///
    /// It can read whole matrices, and rows of one matrix from the start of a strip of 32 rows on. Without padding
    /// between matrices they are one.
    pub fn view_offset(&self, ne: [usize; 4], offset: usize) -> Option<usize> {
        let (start, rest) = (offset / self.row_bytes(), offset % self.row_bytes());
        let row = start % self.ne[1];
        let matrices = ne[2].checked_mul(ne[3])?;
        let end = ne[1].checked_mul(matrices)?.checked_add(start)?;
        let fits = if self.ne[1] % TILE_DIM == 0 {
            // No padding: all strips of the tensor follow each other.
            row % TILE_DIM == 0 && (matrices == 1 || ne[1] % TILE_DIM == 0)
        } else if matrices == 1 {
            row % TILE_DIM == 0 && row + ne[1] <= self.ne[1]
        } else {
            row == 0 && ne[1] == self.ne[1]
        };
        let inside = ne[0] == self.ne[0] && rest == 0 && end <= self.ne[1] * self.matrices();
        (inside && fits).then(|| self.strip_at(offset) * self.column_bytes())
    }

    /// ggml's blocks of a row.
    pub(super) fn blocks(&self) -> usize {
        self.ne[0] / self.kind.block_elements()
    }

    /// K-blocks of a row.
    pub(super) fn k_blocks(&self) -> usize {
        self.ne[0] / TILE_DIM
    }

    /// Strips of a matrix, which is also its column tiles.
    pub(super) fn columns(&self) -> usize {
        self.ne[1].div_ceil(TILE_DIM)
    }

    pub(super) fn matrices(&self) -> usize {
        self.ne[2] * self.ne[3]
    }

    /// Rows of strip `strip`, counted over all matrices: 32 but in the last strip of a matrix.
    pub(super) fn strip_rows(&self, strip: usize) -> usize {
        TILE_DIM.min(self.ne[1] - strip % self.columns() * TILE_DIM)
    }

    /// ggml's first byte of strip `strip`.
    pub(super) fn strip_start(&self, strip: usize) -> usize {
        let (matrix, strip) = (strip / self.columns(), strip % self.columns());
        (matrix * self.ne[1] + strip * TILE_DIM) * self.row_bytes()
    }

    /// The strip that holds ggml's byte `offset`.
    pub(super) fn strip_at(&self, offset: usize) -> usize {
        let row = offset / self.row_bytes();
        row / self.ne[1] * self.columns() + row % self.ne[1] / TILE_DIM
    }

    /// At most how many threads transfers use.
    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Refuses bytes outside the tensor, and tiles that are too small for it.
    pub(super) fn check(&self, tiles: &[u8], offset: usize, len: usize) -> Result<(), LayoutError> {
        self.check_tiles(tiles)?;
        let size = self.ggml_bytes();
        match offset.checked_add(len) {
            Some(end) if end <= size => Ok(()),
            _ => Err(LayoutError::OutOfRange { offset, len, size }),
        }
    }

    /// Refuses tiles that are too small for the tensor.
    pub(super) fn check_tiles(&self, tiles: &[u8]) -> Result<(), LayoutError> {
        let (have, need) = (tiles.len(), self.tiled_bytes());
        if have < need {
            return Err(LayoutError::TilesTooSmall { have, need });
        }
        Ok(())
    }
}

/// `len` bytes of working space, all `byte`; an error instead of an abort when memory is short.
pub(super) fn scratch(len: usize, byte: u8) -> Result<Vec<u8>, LayoutError> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).map_err(|_| LayoutError::OutOfMemory(len))?;
    bytes.resize(len, byte);
    Ok(bytes)
}
