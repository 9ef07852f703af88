//! Gated linear units: `f(a) * b`, a and b two tensors or the halves of the rows of one.

use super::claim::{optional, rule, source, Claim, SAME};
use super::{Family, Params};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::{BF16, F16, F32};
use crate::ggml::tensor::Tensor;

/// See the module. The second source may be absent.
pub const FAMILY: Family = Family { name: "glu", select, claims: CLAIMS, sources: 2, tiled_source: None, params };

fn select(node: Tensor) -> Option<wire::htp_op> {
    if node.op() != ggml::GGML_OP_GLU {
        return None;
    }
    match ggml::ggml_glu_op::try_from(node.params()[0]).ok()? {
        ggml::GGML_GLU_OP_REGLU => Some(wire::HTP_OP_REGLU),
        ggml::GGML_GLU_OP_GEGLU => Some(wire::HTP_OP_GEGLU),
        ggml::GGML_GLU_OP_SWIGLU => Some(wire::HTP_OP_SWIGLU),
        ggml::GGML_GLU_OP_SWIGLU_OAI => Some(wire::HTP_OP_SWIGLU_OAI),
        ggml::GGML_GLU_OP_GEGLU_ERF => Some(wire::HTP_OP_GEGLU_ERF),
        ggml::GGML_GLU_OP_GEGLU_QUICK => Some(wire::HTP_OP_GEGLU_QUICK),
        ggml::GGML_GLU_OP_SWIGLU_CLAMP => Some(wire::HTP_OP_SWIGLU_CLAMP),
        _ => None,
    }
}

/// See [`Claim`].
const CLAIMS: &[Claim] = &[Claim {
    ops: &[
        wire::HTP_OP_REGLU,
        wire::HTP_OP_GEGLU,
        wire::HTP_OP_SWIGLU,
        wire::HTP_OP_SWIGLU_OAI,
        wire::HTP_OP_GEGLU_ERF,
        wire::HTP_OP_GEGLU_QUICK,
        wire::HTP_OP_SWIGLU_CLAMP,
    ],
    sources: &[source("a"), optional("b")],
    types: &[&[&[F32, F16, BF16], SAME, SAME]],
    rules: &[rule!(
        "the result has the shape of a and b; without b, rows of a are two of the result, or two and an element",
        |node| {
            let a = node.src(0)?;
            Some(match node.src(1) {
                Some(b) => a.same_shape(node) && b.same_shape(node),
                None => a.ne()[0] / 2 == node.ne()[0] && a.ne()[1..] == node.ne()[1..],
            })
        }
    )],
}];

/// `htp_glu_params`. ggml has the kind, whether halves are swapped, alpha and limit.
fn params(node: Tensor) -> Params {
    let mut params = Params::default();
    params[..3].copy_from_slice(&node.params()[1..4]);
    params
}

#[cfg(test)]
mod tests {
    use super::{params, select};
    use crate::batch::wire;
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::*;
    use crate::ops::supports;

    #[test]
    fn types_and_shapes() {
        for (a, b, shape, expected) in [
            (F32, F32, [8, 3, 2, 1], true),
            (BF16, BF16, [8, 3, 2, 1], true),
            (F16, F32, [8, 3, 2, 1], false),
            (F32, F32, [8, 3, 1, 1], false),
            (F32, F32, [4, 3, 2, 1], false),
        ] {
            let (mut x, mut y) = (tensor(a, [8, 3, 2, 1]), tensor(b, shape));
            let glu = node(GGML_OP_GLU, a, [8, 3, 2, 1], &mut [&mut x, &mut y]);
            assert_eq!(supports(view(&glu)).is_ok(), expected, "{a:?} and {b:?} {shape:?}");
        }
        for (kind, shape, expected) in [
            (F16, [9, 3, 2, 1], true),
            (F16, [8, 3, 2, 1], true),
            (F16, [4, 3, 2, 1], false),
            (F16, [8, 3, 1, 1], false),
            (I32, [8, 3, 2, 1], false),
        ] {
            let mut x = tensor(kind, shape);
            let glu = node(GGML_OP_GLU, kind, [4, 3, 2, 1], &mut [&mut x]);
            assert_eq!(supports(view(&glu)).is_ok(), expected, "halves, {kind:?} {shape:?}");
        }
    }

    #[test]
    fn kinds_and_arguments() {
        let mut x = tensor(F32, [8, 3, 2, 1]);
        let mut glu = node(GGML_OP_GLU, F32, [4, 3, 2, 1], &mut [&mut x]);
        glu.op_params[..4].copy_from_slice(&[GGML_GLU_OP_SWIGLU_OAI as i32, 1, 7, 9]);
        assert_eq!(select(view(&glu)), Some(wire::HTP_OP_SWIGLU_OAI));
        assert_eq!(params(view(&glu))[..4], [1, 7, 9, 0]);
        glu.op_params[0] = GGML_GLU_OP_COUNT as i32;
        assert_eq!(select(view(&glu)), None);
    }
}
