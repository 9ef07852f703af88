//! Softmax of rows: `softmax(scale * src0 + slope * mask)`, the mask repeated over dimensions 2 and 3, with a sink a head.

use super::claim::{optional, rule, source, Claim, RESULT_ROWS, SAME_SHAPE, SOURCE_ROWS};
use super::{alibi, Family, Params};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::{F16, F32};
use crate::ggml::tensor::Tensor;

/// See the module. Mask and sinks, the last two sources, may be absent.
pub const FAMILY: Family = Family { name: "softmax", select, claims: CLAIMS, sources: 3, tiled_source: None, params };

fn select(node: Tensor) -> Option<wire::htp_op> {
    (node.op() == ggml::GGML_OP_SOFT_MAX).then_some(wire::HTP_OP_SOFT_MAX)
}

/// See [`Claim`].
const CLAIMS: &[Claim] = &[Claim {
    ops: &[wire::HTP_OP_SOFT_MAX],
    sources: &[source("scores"), optional("mask"), optional("sinks")],
    types: &[&[&[F32], &[F32, F16], &[F32], &[F32]]],
    rules: &[
        SAME_SHAPE,
        SOURCE_ROWS,
        RESULT_ROWS,
        rule!("elements of a row of the mask lie side by side", |node| {
            Some(node.src(1).is_none_or(|mask| mask.has_contiguous_rows()))
        }),
        rule!(
            "the mask has at least as many elements a row and rows a matrix as the scores, and its dimensions 2 and 3 \
               divide theirs",
            |node| Some(node.src(1).is_none_or(|mask| covers(mask, node)))
        ),
        rule!("there is a sink for each head: dimension 2 of the scores", |node| {
            Some(node.src(2).is_none_or(|sinks| sinks.ne()[0] >= node.ne()[2] && !sinks.is_empty()))
        }),
    ],
}];

fn covers(mask: Tensor, scores: Tensor) -> bool {
    let ([elements, rows, heads, batches], [mask_elements, mask_rows, mask_heads, mask_batches]) =
        (scores.ne(), mask.ne());
    mask_elements >= elements
        && mask_rows >= rows
        && mask_heads >= 1
        && mask_batches >= 1
        && heads % mask_heads == 0
        && batches % mask_batches == 0
}

/// `htp_softmax_params`. ggml has scale and largest ALiBi bias.
fn params(node: Tensor) -> Params {
    let [scale, max_bias, ..] = node.params();
    let mut params = Params::default();
    params[0] = scale;
    params[1..4].copy_from_slice(&alibi(max_bias, node.ne()[2]));
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
    fn types_and_shapes() {
        for (src, mask, mask_shape, sinks, expected) in [
            (F32, F16, [40, 3, 1, 1], 8, true),
            (F32, F32, [40, 64, 4, 2], 8, true),
            (F32, F16, [40, 3, 1, 1], 7, false),
            (F32, F16, [40, 2, 1, 1], 8, false),
            (F32, F16, [39, 3, 1, 1], 8, false),
            (F32, F16, [40, 3, 3, 1], 8, false),
            (F32, I32, [40, 3, 1, 1], 8, false),
            (F16, F16, [40, 3, 1, 1], 8, false),
        ] {
            let (mut x, mut m, mut s) =
                (tensor(src, [40, 3, 8, 2]), tensor(mask, mask_shape), tensor(F32, [sinks, 1, 1, 1]));
            let softmax = node(GGML_OP_SOFT_MAX, F32, [40, 3, 8, 2], &mut [&mut x, &mut m, &mut s]);
            assert_eq!(supports(view(&softmax)).is_ok(), expected, "{src:?} {mask:?} {mask_shape:?} {sinks}");
        }
        let mut x = tensor(F32, [40, 3, 8, 2]);
        assert!(supports(view(&node(GGML_OP_SOFT_MAX, F32, [40, 3, 8, 2], &mut [&mut x]))).is_ok());
    }

    #[test]
    fn alibi_slopes_go_onto_the_wire() {
        let mut x = tensor(F32, [40, 3, 12, 1]);
        let mut softmax = node(GGML_OP_SOFT_MAX, F32, [40, 3, 12, 1], &mut [&mut x]);
        softmax.op_params[..2].copy_from_slice(&[0.125f32, 8.0].map(|x| x.to_bits() as i32));
        let float = |index: usize| f32::from_bits(params(view(&softmax))[index] as u32);
        assert_eq!([float(0), float(1), float(2)], [0.125, 0.5, 0.5f32.sqrt()]);
        assert_eq!(params(view(&softmax))[3], 8);
        softmax.op_params[1] = 0;
        assert_eq!(params(view(&softmax))[1..4], [0, 0, 0]);
    }
}
