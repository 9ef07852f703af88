//! Matrix multiplication.
//!
//! - MUL_MAT: `dst[m][n] = sum over k of src0[n][k] * src1[m][k]`, broadcast over dimensions 2 and 3
//! - MUL_MAT_ID: `dst[token][slot][n]` = the same with the matrix of expert `src2[token][slot]`; the rows of a token in
//!   src1 are repeated over its slots

use super::{Declined, Family};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::{ElementType, Tensor};

/// See the module.
pub const FAMILY: Family =
    Family { name: "matmul", select, supports, sources: 3, tiled_source: Some(0), params: |_| [0; 16] };

fn select(node: Tensor) -> Option<wire::htp_op> {
    match node.op() {
        ggml::GGML_OP_MUL_MAT => Some(wire::HTP_OP_MUL_MAT),
        ggml::GGML_OP_MUL_MAT_ID => Some(wire::HTP_OP_MUL_MAT_ID),
        _ => None,
    }
}

fn supports(node: Tensor) -> Result<(), Declined> {
    let (Some(weights), Some(activations)) = (node.src(0), node.src(1)) else {
        return Err("a source is missing");
    };
    if node.element_type() != Some(ElementType::F32) || !node.has_contiguous_rows() {
        return Err("the result is not f32");
    }
    if !matches!(activations.element_type(), Some(ElementType::F32 | ElementType::F16 | ElementType::BF16)) {
        return Err("activations are not f32, f16 or bf16");
    }
    supports_weights(weights)?;
    let fits = match node.op() {
        ggml::GGML_OP_MUL_MAT_ID => fits_experts(node, weights, activations)?,
        _ => fits(node, weights, activations),
    };
    if !fits {
        return Err("shapes do not fit together");
    }
    Ok(())
}

fn supports_weights(weights: Tensor) -> Result<(), Declined> {
    use ElementType::*;
    match weights.element_type() {
        Some(F16 | BF16 | F32) => Ok(()),
        // A block is the unit of a quantised row: its elements cannot be apart.
        Some(Q4_0 | Q8_0 | Q4_1 | MXFP4 | IQ4_NL) if weights.has_contiguous_rows() && weights.ne()[0] % 32 == 0 => {
            Ok(())
        }
        Some(Q4_0 | Q8_0 | Q4_1 | MXFP4 | IQ4_NL) => Err("rows of quantised weights are not whole blocks"),
        _ => Err("no kernel for this type of weights"),
    }
}

fn fits(node: Tensor, weights: Tensor, activations: Tensor) -> bool {
    let ([k, n, w2, w3], [ak, m, a2, a3]) = (weights.ne(), activations.ne());
    k == ak && node.ne() == [n, m, a2, a3] && w2 != 0 && w3 != 0 && a2 % w2 == 0 && a3 % w3 == 0
}

fn fits_experts(node: Tensor, weights: Tensor, activations: Tensor) -> Result<bool, Declined> {
    let Some(ids) = node.src(2) else {
        return Err("a source is missing");
    };
    if ids.element_type() != Some(ElementType::I32) {
        return Err("the choice of experts is not i32");
    }
    let ([k, n, _, w3], [ak, rows, tokens, a3], [used, lists, i2, i3]) = (weights.ne(), activations.ne(), ids.ne());
    Ok(k == ak
        && node.ne() == [n, used, tokens, 1]
        && lists == tokens
        && [w3, a3, i2, i3] == [1; 4]
        && rows != 0
        && used % rows == 0)
}

#[cfg(test)]
mod tests {
    use super::supports;
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::*;

    #[test]
    fn types_and_shapes() {
        for (weights, activations, k, expected) in [
            (Q4_0, F32, 64, true),
            (Q8_0, F16, 32, true),
            (Q4_1, F32, 32, true),
            (MXFP4, F32, 96, true),
            (IQ4_NL, BF16, 32, true),
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
    fn experts() {
        let supported = |ids_type, ids_ne, rows, dst| {
            let (mut w, mut a) = (tensor(MXFP4, [64, 5, 8, 1]), tensor(F32, [64, rows, 3, 1]));
            let mut ids = tensor(ids_type, ids_ne);
            let mm = node(GGML_OP_MUL_MAT_ID, F32, dst, &mut [&mut w, &mut a, &mut ids]);
            supports(view(&mm)).is_ok()
        };
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
