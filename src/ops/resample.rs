//! Results whose elements come from other places of an image: POOL_1D, POOL_2D, UPSCALE, PAD_REFLECT_1D.

use super::claim::{rule, source, Claim, Rule, Source, Types, RESULT_ROWS, SAME, SOURCE_ROWS};
use super::{Family, Params};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::F32;
use crate::ggml::tensor::Tensor;

/// See the module.
pub const FAMILY: Family = Family { name: "resample", select, claims: CLAIMS, sources: 1, tiled_source: None, params };

fn select(node: Tensor) -> Option<wire::htp_op> {
    match node.op() {
        ggml::GGML_OP_POOL_1D => Some(wire::HTP_OP_POOL_1D),
        ggml::GGML_OP_POOL_2D => Some(wire::HTP_OP_POOL_2D),
        ggml::GGML_OP_UPSCALE => Some(wire::HTP_OP_UPSCALE),
        ggml::GGML_OP_PAD_REFLECT_1D => Some(wire::HTP_OP_PAD_REFLECT_1D),
        _ => None,
    }
}

const SOURCES: &[Source] = &[source("image")];
const TYPES: &[&[Types]] = &[&[&[F32], SAME]];

/// ggml's kinds of pools.
const POOL_MAX: i32 = 0;
const POOL_AVG: i32 = 1;

/// In the first word of UPSCALE's arguments: the mode, and flags above it.
const MODE: i32 = 0xff;
const ALIGN_CORNERS: i32 = 1 << 8;
const ANTIALIAS: i32 = 1 << 9;

const UPSCALE_SIZES: Rule =
    rule!("sizes are less than 2^24, rows of the image at most 2^16, and none shrinks 2^10 times", |node| {
        let (image, result) = (node.src(0)?.ne(), node.ne());
        let fits =
            |d: usize| image[d] >= 1 && image[d] < 1 << 24 && result[d] < 1 << 24 && image[d] >> 10 < result[d].max(1);
        Some(image[0] <= 1 << 16 && (0..4).all(fits))
    });

/// See [`Claim`].
const CLAIMS: &[Claim] = &[
    Claim {
        ops: &[wire::HTP_OP_POOL_1D, wire::HTP_OP_POOL_2D],
        sources: SOURCES,
        types: TYPES,
        rules: &[
            RESULT_ROWS,
            rule!("the largest element is wanted or the mean", |node| {
                Some([POOL_MAX, POOL_AVG].contains(&node.params()[0]))
            }),
            rule!(
                "windows have 1 to 2^8 elements in each dimension, strides are 1 to 2^8, padding is 0 to 2^8",
                |node| {
                    let pool = Pool::of(node);
                    let fits = |n: &i32| (1..=1 << 8).contains(n);
                    Some(
                        pool.window.iter().chain(&pool.stride).all(fits)
                            && pool.padding.iter().all(|n| fits(n.max(&1)) && *n >= 0),
                    )
                }
            ),
            rule!(
                "the image is as large as the result in the dimensions without windows, and less than 2^20",
                |node| {
                    let (image, result) = (node.src(0)?.ne(), node.ne());
                    let windows = if node.op() == ggml::GGML_OP_POOL_1D { 1 } else { 2 };
                    Some(
                        image[windows..] == result[windows..]
                            && image[..2].iter().chain(&result[..2]).all(|&n| n < 1 << 20),
                    )
                }
            ),
        ],
    },
    Claim {
        ops: &[wire::HTP_OP_UPSCALE],
        sources: SOURCES,
        types: TYPES,
        rules: &[
            RESULT_ROWS,
            rule!("the mode is nearest, bilinear, antialiased bilinear or bicubic", |node| {
                let flags = node.params()[0];
                let antialiased = flags & ANTIALIAS != 0;
                Some(
                    flags & !(MODE | ALIGN_CORNERS | ANTIALIAS) == 0
                        && flags & MODE <= if antialiased { 1 } else { 2 }
                        && (!antialiased || flags & MODE == 1),
                )
            }),
            UPSCALE_SIZES,
        ],
    },
    Claim {
        ops: &[wire::HTP_OP_PAD_REFLECT_1D],
        sources: SOURCES,
        types: TYPES,
        rules: &[
            RESULT_ROWS,
            SOURCE_ROWS,
            rule!("padding is less than the row, and makes up the difference between the shapes", |node| {
                let (image, result, p) = (node.src(0)?.ne(), node.ne(), node.params());
                let padding = [i64::from(p[0]), i64::from(p[1])];
                let fits = padding.iter().all(|n| (0..image[0]).contains(n));
                Some(fits && image[0] + padding[0] + padding[1] == result[0] && image[1..] == result[1..])
            }),
        ],
    },
];

/// Arguments of POOL, taken apart.
struct Pool {
    window: [i32; 2],
    stride: [i32; 2],
    padding: [i32; 2],
}

impl Pool {
    fn of(node: Tensor) -> Pool {
        let p = node.params();
        if node.op() == ggml::GGML_OP_POOL_1D {
            return Pool { window: [p[1], 1], stride: [p[2], 1], padding: [p[3], 0] };
        }
        Pool { window: [p[1], p[2]], stride: [p[3], p[4]], padding: [p[5], p[6]] }
    }
}

fn params(node: Tensor) -> Params {
    let p = node.params();
    let mut params = Params::default();
    match node.op() {
        ggml::GGML_OP_UPSCALE => {
            params[0] = p[0] & MODE;
            params[1] = i32::from(p[0] & ALIGN_CORNERS != 0);
            params[2] = i32::from(p[0] & ANTIALIAS != 0);
        }
        ggml::GGML_OP_PAD_REFLECT_1D => params[..2].copy_from_slice(&p[..2]),
        _ => {
            let pool = Pool::of(node);
            params[0] = i32::from(p[0] == POOL_MAX);
            params[1..3].copy_from_slice(&pool.window);
            params[3..5].copy_from_slice(&pool.stride);
            params[5..7].copy_from_slice(&pool.padding);
        }
    }
    params
}

#[cfg(test)]
mod tests {
    use super::{params, POOL_AVG, POOL_MAX};
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::*;
    use crate::ops::supports;

    #[test]
    fn pools() {
        let mut image = tensor(F32, [10, 8, 3, 1]);
        let mut line = node(GGML_OP_POOL_1D, F32, [5, 8, 3, 1], &mut [&mut image]);
        line.op_params[..4].copy_from_slice(&[POOL_AVG, 2, 2, 0]);
        assert_eq!(supports(view(&line)), Ok(()));
        assert_eq!(params(view(&line))[..7], [0, 2, 1, 2, 1, 0, 0]);
        line.op_params[2] = 0;
        assert!(supports(view(&line)).is_err(), "stride 0");
        let mut plane = node(GGML_OP_POOL_2D, F32, [5, 4, 3, 1], &mut [&mut image]);
        plane.op_params[..7].copy_from_slice(&[POOL_MAX, 3, 2, 2, 2, 1, 0]);
        assert_eq!(supports(view(&plane)), Ok(()));
        assert_eq!(params(view(&plane))[..7], [1, 3, 2, 2, 2, 1, 0]);
    }

    #[test]
    fn upscales() {
        let mut image = tensor(F32, [10, 8, 3, 1]);
        let mut large = node(GGML_OP_UPSCALE, F32, [20, 16, 3, 1], &mut [&mut image]);
        for (flags, expected) in [
            (0, Some([0, 0, 0])),
            (0x101, Some([1, 1, 0])),
            (0x201, Some([1, 0, 1])),
            (2, Some([2, 0, 0])),
            (0x202, None),
            (3, None),
            (0x401, None),
        ] {
            large.op_params[0] = flags;
            assert_eq!(supports(view(&large)).is_ok(), expected.is_some(), "{flags:x}");
            if let Some(expected) = expected {
                assert_eq!(params(view(&large))[..3], expected);
            }
        }
    }

    #[test]
    fn reflections() {
        let mut image = tensor(F32, [10, 8, 3, 1]);
        let mut padded = node(GGML_OP_PAD_REFLECT_1D, F32, [22, 8, 3, 1], &mut [&mut image]);
        padded.op_params[..2].copy_from_slice(&[9, 3]);
        assert_eq!(supports(view(&padded)), Ok(()));
        padded.op_params[..2].copy_from_slice(&[10, 2]);
        assert!(supports(view(&padded)).is_err(), "more than there is to reflect");
    }
}
