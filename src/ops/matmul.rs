//! Matrix multiplication.
//!
//! - MUL_MAT: `dst[m][n] = sum over k of src0[n][k] * src1[m][k]`, broadcast over dimensions 2 and 3
//! - MUL_MAT_ID: `dst[token][slot][n]` = the same with the matrix of expert `src2[token][slot]`; the rows of a token in
//!   src1 are repeated over its slots

use super::claim::{rule, source, Claim, Rule, Types, RESULT_ROWS};
use super::Family;
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::{
    BF16, F16, F32, I32, IQ4_NL, IQ4_XS, MXFP4, Q2_K, Q3_K, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0,
};
use crate::ggml::tensor::Tensor;

/// See the module.
pub const FAMILY: Family =
    Family { name: "matmul", select, claims: CLAIMS, sources: 3, tiled_source: Some(0), params: |_| [0; 16] };

fn select(node: Tensor) -> Option<wire::htp_op> {
    match node.op() {
        ggml::GGML_OP_MUL_MAT => Some(wire::HTP_OP_MUL_MAT),
        ggml::GGML_OP_MUL_MAT_ID => Some(wire::HTP_OP_MUL_MAT_ID),
        _ => None,
    }
}

const ACTIVATIONS: Types = &[F32, F16, BF16];
const WEIGHTS: Types =
    &[F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, MXFP4, IQ4_NL, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_XS];

/// A block is the unit of a quantised row: its elements cannot be apart.
const WHOLE_BLOCKS: Rule = rule!(
    "rows of quantised weights are whole blocks, side by side: of 256 for the K types and IQ4_XS, of 32 for others",
    |node| {
        let weights = node.src(0)?;
        let kind = weights.element_type()?;
        let whole = weights.ne()[0] % kind.block_elements() as i64 == 0;
        Some(!kind.is_quantized() || (weights.has_contiguous_rows() && whole))
    }
);

/// See [`Claim`].
const CLAIMS: &[Claim] = &[
    Claim {
        ops: &[wire::HTP_OP_MUL_MAT],
        sources: &[source("weights"), source("activations")],
        types: &[&[WEIGHTS, ACTIVATIONS, &[F32]]],
        rules: &[
            RESULT_ROWS,
            WHOLE_BLOCKS,
            rule!(
                "weights are [k, n, a, b], activations [k, m, c, d], the result [n, m, c, d]; a divides c and b \
                   divides d",
                shapes_fit
            ),
        ],
    },
    Claim {
        ops: &[wire::HTP_OP_MUL_MAT_ID],
        sources: &[source("weights"), source("activations"), source("experts")],
        types: &[&[WEIGHTS, ACTIVATIONS, &[I32], &[F32]]],
        rules: &[
            RESULT_ROWS,
            WHOLE_BLOCKS,
            rule!(
                "weights are [k, n, number of experts], experts [used, tokens], activations [k, rows, tokens] where \
                   rows divides used, the result [n, used, tokens]",
                experts_fit
            ),
        ],
    },
];

fn shapes_fit(node: Tensor) -> Option<bool> {
    let ([k, n, w2, w3], [ak, m, a2, a3]) = (node.src(0)?.ne(), node.src(1)?.ne());
    Some(k == ak && node.ne() == [n, m, a2, a3] && w2 != 0 && w3 != 0 && a2 % w2 == 0 && a3 % w3 == 0)
}

fn experts_fit(node: Tensor) -> Option<bool> {
    let ([k, n, _, w3], [ak, rows, tokens, a3]) = (node.src(0)?.ne(), node.src(1)?.ne());
    let [used, lists, i2, i3] = node.src(2)?.ne();
    let fits = k == ak
        && node.ne() == [n, used, tokens, 1]
        && lists == tokens
        && [w3, a3, i2, i3] == [1; 4]
        && rows != 0
        && used % rows == 0;
    Some(fits)
}

#[cfg(test)]
mod tests {
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::*;
    use crate::ops::supports;

    #[test]
    fn types_and_shapes() {
        for (weights, activations, k, expected) in [
            (Q4_0, F32, 64, true),
            (Q8_0, F16, 32, true),
            (Q4_1, F32, 32, true),
            (MXFP4, F32, 96, true),
            (IQ4_NL, BF16, 32, true),
            (Q5_0, F32, 96, true),
            (Q5_1, F16, 32, true),
            (Q2_K, F32, 256, true),
            (Q3_K, F16, 512, true),
            (Q4_K, F32, 768, true),
            (Q5_K, BF16, 256, true),
            (Q6_K, F32, 256, true),
            (IQ4_XS, F32, 256, true),
            (Q4_0, F32, 48, false),
            (Q6_K, F32, 384, false),
            (IQ4_XS, F32, 32, false),
            (F16, F32, 7, true),
            (BF16, F32, 7, true),
            (F32, BF16, 1, true),
            (I32, F32, 64, false),
            (Q4_0, I32, 64, false),
        ] {
            let (mut w, mut a) = (tensor(weights, [k, 5, 2, 1]), tensor(activations, [k, 3, 4, 1]));
            let mm = node(GGML_OP_MUL_MAT, F32, [5, 3, 4, 1], &mut [&mut w, &mut a]);
            assert_eq!(supports(view(&mm)).is_ok(), expected, "{weights:?} x {activations:?}");
        }
        let (mut w, mut a) = (tensor(Q4_0, [64, 5, 3, 1]), tensor(F32, [64, 3, 4, 1]));
        let mm = node(GGML_OP_MUL_MAT, F32, [5, 3, 4, 1], &mut [&mut w, &mut a]);
        assert!(supports(view(&mm)).is_err(), "3 does not divide 4");
    }

    #[test]
    fn blocks_are_side_by_side() {
        for kind in [Q4_0, Q4_K] {
            let (mut w, mut a) = (tensor(kind, [256, 5, 2, 1]), tensor(F32, [256, 3, 2, 1]));
            w.nb[0] *= 2;
            let mm = node(GGML_OP_MUL_MAT, F32, [5, 3, 2, 1], &mut [&mut w, &mut a]);
            assert!(supports(view(&mm)).is_err(), "{kind:?}");
        }
    }

    #[test]
    fn experts() {
        let supported_of = |kind, ids_type, ids_ne, rows, dst| {
            let (mut w, mut a) = (tensor(kind, [256, 5, 8, 1]), tensor(F32, [256, rows, 3, 1]));
            let mut ids = tensor(ids_type, ids_ne);
            let mm = node(GGML_OP_MUL_MAT_ID, F32, dst, &mut [&mut w, &mut a, &mut ids]);
            supports(view(&mm)).is_ok()
        };
        let supported = |ids_type, ids_ne, rows, dst| supported_of(MXFP4, ids_type, ids_ne, rows, dst);
        for kind in [Q5_0, Q5_1, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_XS] {
            assert!(supported_of(kind, I32, [4, 3, 1, 1], 4, [5, 4, 3, 1]), "{kind:?}");
        }
        assert!(supported(I32, [4, 3, 1, 1], 4, [5, 4, 3, 1]));
        assert!(supported(I32, [4, 3, 1, 1], 1, [5, 4, 3, 1]), "one row for all experts of a token");
        assert!(!supported(I32, [4, 3, 1, 1], 3, [5, 4, 3, 1]), "3 does not divide 4");
        assert!(!supported(I32, [4, 2, 1, 1], 4, [5, 4, 3, 1]), "a token without experts");
        assert!(!supported(I32, [4, 3, 1, 1], 4, [5, 3, 4, 1]));
        assert!(!supported(F32, [4, 3, 1, 1], 4, [5, 4, 3, 1]));
        let (mut w, mut a) = (tensor(F16, [64, 5, 8, 1]), tensor(F32, [64, 1, 3, 1]));
        let mm = node(GGML_OP_MUL_MAT_ID, F32, [5, 1, 3, 1], &mut [&mut w, &mut a]);
        assert!(supports(view(&mm)).is_err(), "no ids");
    }
}
