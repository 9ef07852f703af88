//! Matrix multiplication: `dst[m][n] = sum over k of src0[n][k] * src1[m][k]`, broadcast over dimensions 2 and 3.

use super::{Declined, Family};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::{ElementType, Tensor};

/// See the module.
pub const FAMILY: Family =
    Family { name: "matmul", select, supports, sources: 2, tiled_source: Some(0), params: |_| [0; 16] };

fn select(node: Tensor) -> Option<wire::htp_op> {
    (node.op() == ggml::GGML_OP_MUL_MAT).then_some(wire::HTP_OP_MUL_MAT)
}

fn supports(node: Tensor) -> Result<(), Declined> {
    let (Some(weights), Some(activations)) = (node.src(0), node.src(1)) else {
        return Err("a source is missing");
    };
    if node.element_type() != Some(ElementType::F32) || !node.has_contiguous_rows() {
        return Err("the result is not f32");
    }
    if !matches!(activations.element_type(), Some(ElementType::F32 | ElementType::F16)) {
        return Err("activations are not f32 or f16");
    }
    match weights.element_type() {
        Some(ElementType::F16) => {}
        // A block is the unit of a quantised row: its elements cannot be apart.
        Some(ElementType::Q4_0 | ElementType::Q8_0) if weights.has_contiguous_rows() && weights.ne()[0] % 32 == 0 => {}
        Some(ElementType::Q4_0 | ElementType::Q8_0) => return Err("rows of quantised weights are not whole blocks"),
        _ => return Err("no kernel for this type of weights"),
    }
    let ([k, n, w2, w3], [ak, m, a2, a3]) = (weights.ne(), activations.ne());
    if k != ak || node.ne() != [n, m, a2, a3] || w2 == 0 || w3 == 0 || a2 % w2 != 0 || a3 % w3 != 0 {
        return Err("shapes do not fit together");
    }
    Ok(())
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
            (F16, F32, 7, true),
            (F32, F32, 64, false),
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
}
