//! Rows by index: GET_ROWS reads rows `src1[..]` of `src0`, SET_ROWS writes the rows of `src0` to rows `src1[..]`.
//!
//! Rows are converted on the way: GET_ROWS gives f32 (i32 of i32), SET_ROWS rounds and quantises as ggml's reference
//! code does. Types with blocks of 256 are read, not written. An index that is out of range is found by the DSP and fails
//! the graph.

use super::claim::{rule, source, Claim, Types, RESULT_ROWS, SOURCE_ROWS};
use super::Family;
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::{
    BF16, F16, F32, I32, I64, IQ4_NL, IQ4_XS, MXFP4, Q2_K, Q3_K, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0,
};
use crate::ggml::tensor::Tensor;

/// See the module. SET_ROWS has its result as a third source, of which it is a view.
pub const FAMILY: Family =
    Family { name: "gather", select, claims: CLAIMS, sources: 2, tiled_source: Some(0), params: |_| [0; 16] };

fn select(node: Tensor) -> Option<wire::htp_op> {
    match node.op() {
        ggml::GGML_OP_GET_ROWS => Some(wire::HTP_OP_GET_ROWS),
        ggml::GGML_OP_SET_ROWS => Some(wire::HTP_OP_SET_ROWS),
        _ => None,
    }
}

const INDEX: Types = &[I32, I64];
/// What rows of a table may be read as.
const READ: Types =
    &[F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, MXFP4, IQ4_NL, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_XS];
/// What rows of a table may be written as.
const WRITTEN: Types = &[F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, MXFP4, IQ4_NL];

/// See [`Claim`].
const CLAIMS: &[Claim] = &[
    Claim {
        ops: &[wire::HTP_OP_GET_ROWS],
        sources: &[source("table"), source("indices")],
        types: &[&[READ, INDEX, &[F32]], &[&[I32], INDEX, &[I32]]],
        rules: &[
            SOURCE_ROWS,
            RESULT_ROWS,
            rule!(
                "the result has a row of the table for each index: indices are [n, a, b], the result [row, n, a, b], \
                   and dimensions 2 and 3 of the table are a and b",
                |node| {
                    let (table, [n, a, b, one]) = (node.src(0)?.ne(), node.src(1)?.ne());
                    Some(node.ne() == [table[0], n, a, b] && table[2..] == [a, b] && one == 1)
                }
            ),
        ],
    },
    Claim {
        ops: &[wire::HTP_OP_SET_ROWS],
        sources: &[source("rows"), source("indices")],
        types: &[&[&[F32, F16], INDEX, WRITTEN]],
        rules: &[
            SOURCE_ROWS,
            RESULT_ROWS,
            rule!(
                "there is an index for each row: indices are [n, a, b], rows [row, n, c, d] where a divides c and b \
                   divides d, the result [row, any, c, d]",
                |node| {
                    let (rows, [n, a, b, one], table) = (node.src(0)?.ne(), node.src(1)?.ne(), node.ne());
                    let repeats = |rows: i64, indices: i64| indices != 0 && rows % indices == 0;
                    let same = rows[0] == table[0] && rows[2..] == table[2..] && rows[1] == n;
                    Some(same && repeats(rows[2], a) && repeats(rows[3], b) && one == 1)
                }
            ),
        ],
    },
];

#[cfg(test)]
mod tests {
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::{self, *};
    use crate::ops::supports;

    fn get(from: ElementType, to: ElementType, index: [i64; 4]) -> bool {
        let (mut table, mut index) = (tensor(from, [256, 9, 2, 3]), tensor(I32, index));
        let get = node(GGML_OP_GET_ROWS, to, [256, 5, 2, 3], &mut [&mut table, &mut index]);
        supports(view(&get)).is_ok()
    }

    fn set(from: ElementType, to: ElementType, kind: ElementType, index: [i64; 4]) -> bool {
        let (mut list, mut index) = (tensor(from, [256, 5, 4, 3]), tensor(kind, index));
        let mut table = tensor(to, [256, 9, 4, 3]);
        let set = node(GGML_OP_SET_ROWS, to, [256, 9, 4, 3], &mut [&mut list, &mut index, &mut table]);
        supports(view(&set)).is_ok()
    }

    #[test]
    fn types() {
        for (from, to, expected) in [
            (F32, F32, true),
            (F16, F32, true),
            (MXFP4, F32, true),
            (I32, I32, true),
            (I32, F32, false),
            (F16, F16, false),
            (I64, F32, false),
        ] {
            assert_eq!(get(from, to, [5, 2, 3, 1]), expected, "get {from:?} as {to:?}");
        }
        for kind in [Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_XS] {
            assert!(get(kind, F32, [5, 2, 3, 1]), "get {kind:?}");
            assert!(!set(F32, kind, I64, [5, 4, 3, 1]), "set {kind:?}");
        }
        for (from, to, kind, expected) in [
            (F32, Q8_0, I64, true),
            (F16, F16, I32, true),
            (F32, MXFP4, I64, true),
            (F32, I32, I64, false),
            (Q8_0, F32, I64, false),
            (F32, F32, F32, false),
        ] {
            assert_eq!(set(from, to, kind, [5, 4, 3, 1]), expected, "set {from:?} as {to:?} by {kind:?}");
        }
    }

    #[test]
    fn shapes() {
        assert!(!get(F32, F32, [4, 2, 3, 1]) && !get(F32, F32, [5, 1, 3, 1]));
        assert!(set(F32, F32, I64, [5, 2, 1, 1]), "indices repeat");
        assert!(!set(F32, F32, I64, [5, 3, 1, 1]) && !set(F32, F32, I64, [5, 0, 1, 1]));
    }
}
