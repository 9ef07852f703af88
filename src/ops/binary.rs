//! Element-wise ADD, SUB, MUL and DIV; the second source is repeated to the shape of the first.

use super::claim::{self, rule, source, Claim, SAME, SAME_SHAPE};
use super::{Declined, Family};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::{F16, F32};
use crate::ggml::tensor::Tensor;

/// See the module.
pub const FAMILY: Family =
    Family { name: "binary", select, supports, sources: 2, tiled_source: None, params: |_| [0; 16] };

fn select(node: Tensor) -> Option<wire::htp_op> {
    match node.op() {
        ggml::GGML_OP_ADD => Some(wire::HTP_OP_ADD),
        ggml::GGML_OP_SUB => Some(wire::HTP_OP_SUB),
        ggml::GGML_OP_MUL => Some(wire::HTP_OP_MUL),
        ggml::GGML_OP_DIV => Some(wire::HTP_OP_DIV),
        _ => None,
    }
}

/// See [`claim`].
pub const CLAIMS: &[Claim] = &[Claim {
    ops: &[wire::HTP_OP_ADD, wire::HTP_OP_SUB, wire::HTP_OP_MUL, wire::HTP_OP_DIV],
    sources: &[source("a"), source("b")],
    types: &[&[&[F32, F16], SAME, SAME]],
    rules: &[
        SAME_SHAPE,
        rule!("b can be repeated to the shape of the result", |node| Some(node.src(1)?.can_repeat_to(node))),
    ],
}];

fn supports(node: Tensor) -> Result<(), Declined> {
    claim::check(CLAIMS, select(node), node)
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
            (F32, F32, [3, 2, 3, 1], false),
            (F32, F32, [16, 2, 3, 1], false),
        ] {
            let (mut x, mut y) = (tensor(a, [8, 2, 3, 1]), tensor(b, shape));
            let add = node(GGML_OP_ADD, a, [8, 2, 3, 1], &mut [&mut x, &mut y]);
            assert_eq!(supports(view(&add)).is_ok(), expected, "{a:?} + {b:?} {shape:?}");
        }
    }
}
