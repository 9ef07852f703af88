//! Element-wise ops of one tensor: SCALE, SQR, SQRT, LOG, CLAMP, LEAKY_RELU, SIN, COS and kinds of ggml's UNARY.

use super::claim::{source, Claim, SAME, SAME_SHAPE};
use super::{Family, Params};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::{BF16, F16, F32};
use crate::ggml::tensor::Tensor;

/// See the module.
pub const FAMILY: Family = Family { name: "unary", select, claims: CLAIMS, sources: 1, tiled_source: None, params };

fn select(node: Tensor) -> Option<wire::htp_op> {
    match node.op() {
        ggml::GGML_OP_SCALE => Some(wire::HTP_OP_SCALE),
        ggml::GGML_OP_SQR => Some(wire::HTP_OP_SQR),
        ggml::GGML_OP_SQRT => Some(wire::HTP_OP_SQRT),
        ggml::GGML_OP_LOG => Some(wire::HTP_OP_LOG),
        ggml::GGML_OP_CLAMP => Some(wire::HTP_OP_CLAMP),
        ggml::GGML_OP_LEAKY_RELU => Some(wire::HTP_OP_LEAKY_RELU),
        ggml::GGML_OP_SIN => Some(wire::HTP_OP_SIN),
        ggml::GGML_OP_COS => Some(wire::HTP_OP_COS),
        ggml::GGML_OP_UNARY => kind(node),
        _ => None,
    }
}

/// UNARY keeps its kind in the first argument.
fn kind(node: Tensor) -> Option<wire::htp_op> {
    match ggml::ggml_unary_op::try_from(node.params()[0]).ok()? {
        ggml::GGML_UNARY_OP_ABS => Some(wire::HTP_OP_ABS),
        ggml::GGML_UNARY_OP_NEG => Some(wire::HTP_OP_NEG),
        ggml::GGML_UNARY_OP_STEP => Some(wire::HTP_OP_STEP),
        ggml::GGML_UNARY_OP_TANH => Some(wire::HTP_OP_TANH),
        ggml::GGML_UNARY_OP_RELU => Some(wire::HTP_OP_RELU),
        ggml::GGML_UNARY_OP_SIGMOID => Some(wire::HTP_OP_SIGMOID),
        ggml::GGML_UNARY_OP_GELU => Some(wire::HTP_OP_GELU),
        ggml::GGML_UNARY_OP_GELU_QUICK => Some(wire::HTP_OP_GELU_QUICK),
        ggml::GGML_UNARY_OP_GELU_ERF => Some(wire::HTP_OP_GELU_ERF),
        ggml::GGML_UNARY_OP_SILU => Some(wire::HTP_OP_SILU),
        ggml::GGML_UNARY_OP_EXP => Some(wire::HTP_OP_EXP),
        ggml::GGML_UNARY_OP_SOFTPLUS => Some(wire::HTP_OP_SOFTPLUS),
        ggml::GGML_UNARY_OP_SGN => Some(wire::HTP_OP_SGN),
        ggml::GGML_UNARY_OP_ELU => Some(wire::HTP_OP_ELU),
        ggml::GGML_UNARY_OP_HARDSWISH => Some(wire::HTP_OP_HARDSWISH),
        ggml::GGML_UNARY_OP_HARDSIGMOID => Some(wire::HTP_OP_HARDSIGMOID),
        ggml::GGML_UNARY_OP_EXPM1 => Some(wire::HTP_OP_EXPM1),
        ggml::GGML_UNARY_OP_XIELU => Some(wire::HTP_OP_XIELU),
        ggml::GGML_UNARY_OP_FLOOR => Some(wire::HTP_OP_FLOOR),
        ggml::GGML_UNARY_OP_CEIL => Some(wire::HTP_OP_CEIL),
        ggml::GGML_UNARY_OP_ROUND => Some(wire::HTP_OP_ROUND),
        ggml::GGML_UNARY_OP_TRUNC => Some(wire::HTP_OP_TRUNC),
        _ => None,
    }
}

/// See [`Claim`].
const CLAIMS: &[Claim] = &[Claim {
    ops: &[
        wire::HTP_OP_SCALE,
        wire::HTP_OP_SQR,
        wire::HTP_OP_SQRT,
        wire::HTP_OP_LOG,
        wire::HTP_OP_CLAMP,
        wire::HTP_OP_ABS,
        wire::HTP_OP_NEG,
        wire::HTP_OP_STEP,
        wire::HTP_OP_TANH,
        wire::HTP_OP_RELU,
        wire::HTP_OP_SIGMOID,
        wire::HTP_OP_GELU,
        wire::HTP_OP_GELU_QUICK,
        wire::HTP_OP_GELU_ERF,
        wire::HTP_OP_SILU,
        wire::HTP_OP_EXP,
        wire::HTP_OP_SOFTPLUS,
        wire::HTP_OP_SGN,
        wire::HTP_OP_ELU,
        wire::HTP_OP_HARDSWISH,
        wire::HTP_OP_HARDSIGMOID,
        wire::HTP_OP_EXPM1,
        wire::HTP_OP_XIELU,
        wire::HTP_OP_FLOOR,
        wire::HTP_OP_CEIL,
        wire::HTP_OP_ROUND,
        wire::HTP_OP_TRUNC,
        wire::HTP_OP_LEAKY_RELU,
        wire::HTP_OP_SIN,
        wire::HTP_OP_COS,
    ],
    sources: &[source("elements")],
    types: &[&[&[F32, F16, BF16], SAME]],
    rules: &[SAME_SHAPE],
}];

/// `htp_unary_params`: floats in ggml's order, which are behind the kind when the op is UNARY.
fn params(node: Tensor) -> Params {
    let used = match node.op() {
        ggml::GGML_OP_SCALE | ggml::GGML_OP_CLAMP => 0..2,
        ggml::GGML_OP_LEAKY_RELU => 0..1,
        ggml::GGML_OP_UNARY if kind(node) == Some(wire::HTP_OP_XIELU) => 1..5,
        _ => 0..0,
    };
    let mut params = Params::default();
    params[..used.len()].copy_from_slice(&node.params()[used]);
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
        for (src, dst, shape, expected) in [
            (F32, F32, [5, 3, 2, 1], true),
            (F16, F16, [5, 3, 2, 1], true),
            (BF16, BF16, [5, 3, 2, 1], true),
            (F16, F32, [5, 3, 2, 1], false),
            (I32, I32, [5, 3, 2, 1], false),
            (F32, F32, [5, 2, 3, 1], false),
        ] {
            let mut x = tensor(src, [5, 3, 2, 1]);
            let sqr = node(GGML_OP_SQR, dst, shape, &mut [&mut x]);
            assert_eq!(supports(view(&sqr)).is_ok(), expected, "{src:?} to {dst:?} {shape:?}");
        }
        assert!(supports(view(&node(GGML_OP_SQR, F32, [5, 3, 2, 1], &mut []))).is_err());
    }

    #[test]
    fn kinds_and_arguments() {
        let mut x = tensor(F32, [5, 1, 1, 1]);
        let mut unary = node(GGML_OP_UNARY, F32, [5, 1, 1, 1], &mut [&mut x]);
        unary.op_params[0] = GGML_UNARY_OP_SILU as i32;
        assert_eq!(select(view(&unary)), Some(wire::HTP_OP_SILU));
        assert_eq!(params(view(&unary)), [0; 16]);
        unary.op_params[..5].copy_from_slice(&[GGML_UNARY_OP_XIELU as i32, 3, 4, 5, 6]);
        assert_eq!(select(view(&unary)), Some(wire::HTP_OP_XIELU));
        assert_eq!(params(view(&unary))[..5], [3, 4, 5, 6, 0]);
        let mut leaky = node(GGML_OP_LEAKY_RELU, F32, [5, 1, 1, 1], &mut [&mut x]);
        leaky.op_params[..2].copy_from_slice(&[7, 9]);
        assert_eq!(params(view(&leaky))[..2], [7, 0]);
        unary.op_params[0] = -1;
        assert_eq!(select(view(&unary)), None);
        let mut scale = node(GGML_OP_SCALE, F32, [5, 1, 1, 1], &mut [&mut x]);
        scale.op_params[..2].copy_from_slice(&[7, 9]);
        assert_eq!(select(view(&scale)), Some(wire::HTP_OP_SCALE));
        assert_eq!(params(view(&scale))[..3], [7, 9, 0]);
    }
}
