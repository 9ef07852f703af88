//! Element-wise ADD, SUB, MUL and DIV, where the second source is repeated to the shape of the first; and ADD_ID, which
//! adds to each row the row of the second source that the third one names. An id that is out of range is found by the
//! DSP and fails the graph.

use super::claim::{rule, source, Claim, SAME, SAME_SHAPE};
use super::Family;
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::{BF16, F16, F32, I32};
use crate::ggml::tensor::Tensor;

/// See the module.
pub const FAMILY: Family =
    Family { name: "binary", select, claims: CLAIMS, sources: 3, tiled_source: None, params: |_| [0; 16] };

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

/// See [`Claim`].
const CLAIMS: &[Claim] = &[
    Claim {
        ops: &[wire::HTP_OP_ADD, wire::HTP_OP_SUB, wire::HTP_OP_MUL, wire::HTP_OP_DIV],
        sources: &[source("a"), source("b")],
        types: &[&[&[F32, F16, BF16], SAME, SAME], &[&[F16], &[F32], &[F16, F32]], &[&[BF16], &[F32], &[BF16, F32]]],
        rules: &[
            SAME_SHAPE,
            rule!("b can be repeated to the shape of the result", |node| Some(node.src(1)?.can_repeat_to(node))),
        ],
    },
    Claim {
        ops: &[wire::HTP_OP_ADD_ID],
        sources: &[source("a"), source("b"), source("ids")],
        types: &[&[&[F32], &[F32], &[I32], &[F32]]],
        rules: &[
            SAME_SHAPE,
            rule!("a is [row, n, m, any], b [row, any], ids are [n, m]", |node| {
                let (a, b, ids) = (node.src(0)?.ne(), node.src(1)?.ne(), node.src(2)?.ne());
                Some(a[0] == b[0] && b[2..] == [1, 1] && ids[..2] == a[1..3])
            }),
        ],
    },
];

#[cfg(test)]
mod tests {
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::*;
    use crate::ops::supports;

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
