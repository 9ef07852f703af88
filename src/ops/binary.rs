//! Element-wise ADD, SUB, MUL and DIV, where the second source is repeated to the shape of the first; and ADD_ID, which
//! adds to each row the row of the second source that the third one names.

use super::{Declined, Family};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::{BF16, F16, F32, I32};
use crate::ggml::tensor::Tensor;

/// See the module.
pub const FAMILY: Family =
    Family { name: "binary", select, supports, sources: 3, tiled_source: None, params: |_| [0; 16] };

fn select(node: Tensor) -> Option<wire::htp_op> {
    match node.op() {
        ggml::GGML_OP_ADD => Some(wire::HTP_OP_ADD),
        ggml::GGML_OP_SUB => Some(wire::HTP_OP_SUB),
        ggml::GGML_OP_MUL => Some(wire::HTP_OP_MUL),
        ggml::GGML_OP_DIV => Some(wire::HTP_OP_DIV),
        ggml::GGML_OP_ADD_ID => Some(wire::HTP_OP_ADD_ID),
        _ => None,
    }
}

fn supports(node: Tensor) -> Result<(), Declined> {
    let (Some(a), Some(b)) = (node.src(0), node.src(1)) else {
        return Err("a source is missing");
    };
    if node.op() == ggml::GGML_OP_ADD_ID {
        return supports_add_id(node, a, b);
    }
    let types = (a.element_type(), b.element_type(), node.element_type());
    if !matches!(
        types,
        (Some(F32), Some(F32), Some(F32))
            | (Some(F16), Some(F16), Some(F16))
            | (Some(BF16), Some(BF16), Some(BF16))
            | (Some(F16), Some(F32), Some(F16 | F32))
            | (Some(BF16), Some(F32), Some(BF16 | F32))
    ) {
        return Err("no kernel for these types");
    }
    if !a.same_shape(node) || !b.can_repeat_to(node) {
        return Err("shapes do not fit together");
    }
    Ok(())
}

/// An id that is out of range is found by the DSP and fails the graph.
fn supports_add_id(node: Tensor, a: Tensor, b: Tensor) -> Result<(), Declined> {
    let ids = node.src(2).ok_or("a source is missing")?;
    if [a, b, node].iter().any(|t| t.element_type() != Some(F32)) || ids.element_type() != Some(I32) {
        return Err("not f32 with i32 ids");
    }
    let ([a0, a1, a2, _], [b0, _, b2, b3], [i0, i1, ..]) = (a.ne(), b.ne(), ids.ne());
    if !a.same_shape(node) || a0 != b0 || (b2, b3) != (1, 1) || (i0, i1) != (a1, a2) {
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
        for (a, b, shape, expected) in [
            (F32, F32, [8, 1, 1, 1], true),
            (F16, F16, [4, 2, 3, 1], true),
            (F32, F16, [8, 2, 3, 1], false),
            (I32, I32, [8, 2, 3, 1], false),
            (F16, F32, [8, 1, 3, 1], true),
            (BF16, BF16, [8, 2, 1, 1], true),
            (BF16, F16, [8, 2, 3, 1], false),
            (F32, F32, [3, 2, 3, 1], false),
            (F32, F32, [16, 2, 3, 1], false),
        ] {
            let (mut x, mut y) = (tensor(a, [8, 2, 3, 1]), tensor(b, shape));
            let add = node(GGML_OP_ADD, a, [8, 2, 3, 1], &mut [&mut x, &mut y]);
            assert_eq!(supports(view(&add)).is_ok(), expected, "{a:?} + {b:?} {shape:?}");
        }
    }
    #[test]
    fn ids_fit_the_rows() {
        let (mut a, mut b) = (tensor(F32, [8, 2, 3, 1]), tensor(F32, [8, 5, 1, 1]));
        for (kind, shape, expected) in
            [(I32, [2, 3, 1, 1], true), (I32, [3, 2, 1, 1], false), (F32, [2, 3, 1, 1], false)]
        {
            let mut ids = tensor(kind, shape);
            let add = node(GGML_OP_ADD_ID, F32, [8, 2, 3, 1], &mut [&mut a, &mut b, &mut ids]);
            assert_eq!(supports(view(&add)).is_ok(), expected, "{kind:?} {shape:?}");
        }
    }
}
