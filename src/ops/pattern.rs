//! Results made of constants, of elements that stay what they are, or of numbers that follow from their place: FILL,
//! ARANGE, TRI, DIAG, DIAG_MASK_INF, ROLL, TIMESTEP_EMBEDDING, ACC, SET.

use super::claim::{rule, source, Claim, Rule, RESULT_ROWS, SAME, SAME_SHAPE, SOURCE_ROWS};
use super::{Family, Params};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::{F16, F32, I32};
use crate::ggml::tensor::Tensor;

/// See the module.
pub const FAMILY: Family = Family { name: "pattern", select, claims: CLAIMS, sources: 2, tiled_source: None, params };

fn select(node: Tensor) -> Option<wire::htp_op> {
    match node.op() {
        ggml::GGML_OP_FILL => Some(wire::HTP_OP_FILL),
        ggml::GGML_OP_ARANGE => Some(wire::HTP_OP_ARANGE),
        ggml::GGML_OP_TRI => Some(wire::HTP_OP_TRI),
        ggml::GGML_OP_DIAG => Some(wire::HTP_OP_DIAG),
        ggml::GGML_OP_DIAG_MASK_INF => Some(wire::HTP_OP_DIAG_MASK_INF),
        ggml::GGML_OP_ROLL => Some(wire::HTP_OP_ROLL),
        ggml::GGML_OP_TIMESTEP_EMBEDDING => Some(wire::HTP_OP_TIMESTEP_EMBEDDING),
        ggml::GGML_OP_ACC => Some(wire::HTP_OP_ACC),
        ggml::GGML_OP_SET => Some(wire::HTP_OP_SET),
        _ => None,
    }
}

/// See [`Claim`].
const CLAIMS: &[Claim] = &[
    Claim {
        ops: &[wire::HTP_OP_FILL],
        sources: &[source("shape")],
        types: &[&[&[F32, F16], SAME]],
        rules: &[SAME_SHAPE, RESULT_ROWS],
    },
    Claim {
        ops: &[wire::HTP_OP_ARANGE],
        sources: &[],
        types: &[&[&[F32]]],
        rules: &[RESULT_ROWS, rule!("the result is one row", |node| Some(node.rows() == 1))],
    },
    Claim {
        ops: &[wire::HTP_OP_TRI, wire::HTP_OP_DIAG_MASK_INF],
        sources: &[source("rows")],
        types: &[&[&[F32], SAME]],
        rules: &[
            SAME_SHAPE,
            SOURCE_ROWS,
            RESULT_ROWS,
            rule!("the kind of triangle is known, the number of elements in front of it not negative", |node| {
                Some(band(node).is_some())
            }),
        ],
    },
    Claim {
        ops: &[wire::HTP_OP_DIAG],
        sources: &[source("diagonals")],
        types: &[&[&[F32], SAME]],
        rules: &[
            SOURCE_ROWS,
            RESULT_ROWS,
            rule!("each matrix of the source is a row, and the diagonal of a square matrix of the result", |node| {
                let [n, rows, n2, n3] = node.src(0)?.ne();
                Some(rows == 1 && node.ne() == [n, n, n2, n3])
            }),
        ],
    },
    Claim {
        ops: &[wire::HTP_OP_ROLL],
        sources: &[source("elements")],
        types: &[&[&[F32], SAME]],
        rules: &[SAME_SHAPE, SOURCE_ROWS, RESULT_ROWS],
    },
    Claim {
        ops: &[wire::HTP_OP_TIMESTEP_EMBEDDING],
        sources: &[source("timesteps")],
        types: &[&[&[F32], SAME]],
        rules: &[
            RESULT_ROWS,
            rule!("the source is one row, and the result a matrix with a row for each of its elements", |node| {
                let [n, rest @ ..] = node.src(0)?.ne();
                Some(rest == [1; 3] && node.ne()[1..] == [n, 1, 1])
            }),
            rule!("the longest period is 1 at least, and rows have the elements asked for", |node| {
                let [dim, period, ..] = node.params();
                Some(period >= 1 && node.ne()[0] == i64::from(dim))
            }),
        ],
    },
    Claim {
        ops: &[wire::HTP_OP_ACC],
        sources: &[source("whole"), source("part")],
        types: &[&[&[F32], SAME, SAME]],
        rules: REGION,
    },
    Claim {
        ops: &[wire::HTP_OP_SET],
        sources: &[source("whole"), source("part")],
        types: &[&[&[F32, I32], SAME, SAME]],
        rules: REGION,
    },
];

const REGION: &[Rule] = &[
    SAME_SHAPE,
    rule!("elements of the whole and of the result lie side by side", |node| {
        Some(node.src(0)?.is_contiguous() && node.is_contiguous())
    }),
    rule!("elements of a row of the part lie side by side", |node| Some(node.src(1)?.has_contiguous_rows())),
    rule!("the region lies within the result, and its rows do not overlap", |node| Some(region_fits(
        node,
        node.src(1)?
    ))),
];

/// ggml keeps the region's strides of dimensions 1 to 3 and its offset in the first words.
fn region_fits(node: Tensor, part: Tensor) -> bool {
    let (words, ne) = (node.params(), part.ne());
    if part.is_empty() {
        return true;
    }
    let Some(bytes) = node.bytes() else { return false };
    let mut end = ne[0].saturating_mul(4);
    for (&stride, &n) in words[..3].iter().zip(&ne[1..]).filter(|(_, &n)| n > 1) {
        if i64::from(stride) < end || stride % 4 != 0 {
            return false;
        }
        end = end.saturating_add((n - 1).saturating_mul(i64::from(stride)));
    }
    words[3] >= 0 && words[3] % 4 == 0 && end.saturating_add(i64::from(words[3])) <= bytes as i64
}

/// Which elements of a row stay, as `low` and `high` of `htp_band_params`.
fn band(node: Tensor) -> Option<[i32; 2]> {
    let argument = node.params()[0];
    match node.op() {
        ggml::GGML_OP_DIAG => Some([0, 0]),
        ggml::GGML_OP_DIAG_MASK_INF => (argument >= 0).then_some([i32::MIN, argument]),
        _ => match ggml::ggml_tri_type::try_from(argument).ok()? {
            ggml::GGML_TRI_TYPE_UPPER_DIAG => Some([0, i32::MAX]),
            ggml::GGML_TRI_TYPE_UPPER => Some([1, i32::MAX]),
            ggml::GGML_TRI_TYPE_LOWER_DIAG => Some([i32::MIN, 0]),
            ggml::GGML_TRI_TYPE_LOWER => Some([i32::MIN, -1]),
            _ => None,
        },
    }
}

/// The structs of `htp/params.h` that have the op's name, `htp_band_params` and `htp_put_params`.
fn params(node: Tensor) -> Params {
    let words = node.params();
    let mut params = Params::default();
    match node.op() {
        ggml::GGML_OP_FILL => params[0] = words[0],
        // start, end, step
        ggml::GGML_OP_ARANGE => params[..2].copy_from_slice(&[words[0], words[2]]),
        ggml::GGML_OP_ROLL => {
            for (by, (&shift, &n)) in params.iter_mut().zip(words.iter().zip(&node.ne())) {
                // Less than the size, which fits.
                *by = i64::from(shift).checked_rem_euclid(n).unwrap_or(0) as i32;
            }
        }
        ggml::GGML_OP_TIMESTEP_EMBEDDING => {
            let pairs = (node.ne()[0] / 2).max(1);
            params[0] = ((f64::from(words[1].max(1)).log2() / pairs as f64) as f32).to_bits() as i32;
        }
        ggml::GGML_OP_ACC | ggml::GGML_OP_SET => params[..4].copy_from_slice(&words[..4]),
        _ => {
            let outside = if node.op() == ggml::GGML_OP_DIAG_MASK_INF { f32::NEG_INFINITY } else { 0.0 };
            let [low, high] = band(node).unwrap_or_default();
            params[..3].copy_from_slice(&[low, high, outside.to_bits() as i32]);
        }
    }
    params
}

#[cfg(test)]
mod tests {
    use super::params;
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::*;
    use crate::ops::supports;

    #[test]
    fn shapes_and_types() {
        let (mut x, mut h, mut i) = (tensor(F32, [8, 8, 2, 1]), tensor(F16, [8, 8, 2, 1]), tensor(I32, [8, 8, 2, 1]));
        let mut row = tensor(F32, [8, 1, 1, 1]);
        let claimed = |t: &ggml_tensor| supports(view(t)).is_ok();
        assert!(claimed(&node(GGML_OP_FILL, F16, [8, 8, 2, 1], &mut [&mut h])));
        assert!(!claimed(&node(GGML_OP_FILL, I32, [8, 8, 2, 1], &mut [&mut i])));
        assert!(claimed(&node(GGML_OP_ARANGE, F32, [100, 1, 1, 1], &mut [])));
        assert!(!claimed(&node(GGML_OP_ARANGE, F32, [100, 2, 1, 1], &mut [])));
        assert!(claimed(&node(GGML_OP_ROLL, F32, [8, 8, 2, 1], &mut [&mut x])));
        assert!(claimed(&node(GGML_OP_DIAG, F32, [8, 8, 1, 1], &mut [&mut row])));
        assert!(!claimed(&node(GGML_OP_DIAG, F32, [8, 8, 2, 1], &mut [&mut x])));
        let mut times = node(GGML_OP_TIMESTEP_EMBEDDING, F32, [33, 8, 1, 1], &mut [&mut row]);
        times.op_params[..2].copy_from_slice(&[33, 10000]);
        assert!(claimed(&times));
        assert!((f32::from_bits(params(view(&times))[0] as u32) - 10000f32.log2() / 16.0).abs() < 1e-6);
        times.op_params[1] = 0;
        assert!(!claimed(&times));
    }

    #[test]
    fn bands_and_shifts() {
        let mut x = tensor(F32, [8, 8, 2, 1]);
        let mut tri = node(GGML_OP_TRI, F32, [8, 8, 2, 1], &mut [&mut x]);
        tri.op_params[0] = GGML_TRI_TYPE_LOWER as i32;
        assert_eq!(params(view(&tri))[..3], [i32::MIN, -1, 0]);
        tri.op_params[0] = 4;
        assert!(supports(view(&tri)).is_err());
        let mut mask = node(GGML_OP_DIAG_MASK_INF, F32, [8, 8, 2, 1], &mut [&mut x]);
        mask.op_params[0] = 5;
        assert_eq!(params(view(&mask))[..3], [i32::MIN, 5, f32::NEG_INFINITY.to_bits() as i32]);
        mask.op_params[0] = -1;
        assert!(supports(view(&mask)).is_err());
        let mut roll = node(GGML_OP_ROLL, F32, [8, 8, 2, 1], &mut [&mut x]);
        roll.op_params[..4].copy_from_slice(&[3, -2, 1, 0]);
        assert_eq!(params(view(&roll))[..4], [3, 6, 1, 0]);
    }

    #[test]
    fn regions_lie_within_the_result() {
        for (words, expected) in [
            ([32, 256, 512, 0], true),
            ([32, 256, 512, 128], true),
            ([32, 256, 512, 260], false),
            ([8, 256, 512, 0], false),
            ([32, 256, 512, -4], false),
            ([32, 256, 512, 2], false),
            ([i32::MAX - 3, i32::MAX - 3, i32::MAX - 3, i32::MAX - 3], false),
        ] {
            let (mut x, mut part) = (tensor(F32, [8, 8, 2, 1]), tensor(F32, [4, 4, 2, 1]));
            let mut acc = node(GGML_OP_ACC, F32, [8, 8, 2, 1], &mut [&mut x, &mut part]);
            acc.op_params[..4].copy_from_slice(&words);
            assert_eq!(supports(view(&acc)).is_ok(), expected, "{words:?}");
        }
    }
}
