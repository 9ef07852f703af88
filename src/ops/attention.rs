//! Attention in one op: `softmax(scale * q k + slope * mask) v` for each query row, FLASH_ATTN_EXT.

use super::claim::{optional, rule, source, Claim, Types};
use super::{alibi, Family, Params};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::{BF16, F16, F32, IQ4_NL, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0};
use crate::ggml::tensor::Tensor;

/// See the module. Mask and sinks, the last two sources, may be absent.
pub const FAMILY: Family = Family { name: "attention", select, claims: CLAIMS, sources: 5, tiled_source: None, params };

fn select(node: Tensor) -> Option<wire::htp_op> {
    (node.op() == ggml::GGML_OP_FLASH_ATTN_EXT).then_some(wire::HTP_OP_FLASH_ATTN_EXT)
}

const CACHE: Types = &[F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL];

/// See [`Claim`].
const CLAIMS: &[Claim] = &[Claim {
    ops: &[wire::HTP_OP_FLASH_ATTN_EXT],
    sources: &[source("queries"), source("keys"), source("values"), optional("mask"), optional("sinks")],
    types: &[&[&[F32], CACHE, CACHE, &[F16], &[F32], &[F32]]],
    rules: &[
        rule!("elements of a row of each but the sinks lie side by side", |node| {
            let mut tensors = (0..4).filter_map(|index| node.src(index)).chain([node]);
            Some(tensors.all(|t| t.has_contiguous_rows()))
        }),
        // What the kernel has room for in VTCM whatever the DSP.
        rule!("rows have 1 to 1024 elements", |node| {
            Some([node.src(0)?, node.src(2)?].iter().all(|t| (1..=1024).contains(&t.ne()[0])))
        }),
        rule!(
            "queries are [e, positions, heads, a], keys [e, n, c, d], values [f, n, c, d] where c divides heads and d \
               divides a, the result [f, heads, positions, a]",
            shapes_fit
        ),
        rule!("the mask has at least n elements a row and a row a position", |node| {
            let ([_, positions, ..], [_, keys, ..]) = (node.src(0)?.ne(), node.src(1)?.ne());
            Some(node.src(3).is_none_or(|mask| {
                let [mask_keys, mask_positions, mask_heads, mask_sequences] = mask.ne();
                mask_keys >= keys && mask_positions >= positions && mask_heads >= 1 && mask_sequences >= 1
            }))
        }),
        rule!("there is a sink for each head", |node| {
            let heads = node.src(0)?.ne()[2];
            Some(node.src(4).is_none_or(|sinks| sinks.ne()[0] >= heads))
        }),
    ],
}];

fn shapes_fit(node: Tensor) -> Option<bool> {
    let ([head, positions, heads, sequences], [k_head, keys, kv_heads, kv_sequences]) =
        (node.src(0)?.ne(), node.src(1)?.ne());
    let v = node.src(2)?.ne();
    let fits = head == k_head
        && v == [v[0], keys, kv_heads, kv_sequences]
        && keys >= 1
        && kv_heads >= 1
        && kv_sequences >= 1
        && heads % kv_heads == 0
        && sequences % kv_sequences == 0
        && node.ne() == [v[0], heads, positions, sequences];
    Some(fits)
}

/// `htp_attention_params`. ggml has scale, largest ALiBi bias and soft cap.
fn params(node: Tensor) -> Params {
    let [scale, max_bias, softcap, ..] = node.params();
    let mut params = Params::default();
    params[0] = scale;
    params[1] = softcap;
    params[2..5].copy_from_slice(&alibi(max_bias, node.src(0).map_or(1, |queries| queries.ne()[2])));
    params
}

#[cfg(test)]
mod tests {
    use super::params;
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::{self, *};
    use crate::ops::supports;

    fn claims(kind: ElementType, kv_heads: i64, mask: ElementType, mask_positions: i64) -> bool {
        let mut q = tensor(F32, [64, 3, 8, 2]);
        let (mut k, mut v) = (tensor(kind, [64, 40, kv_heads, 2]), tensor(kind, [96, 40, kv_heads, 2]));
        let (mut m, mut s) = (tensor(mask, [40, mask_positions, 1, 1]), tensor(F32, [8, 1, 1, 1]));
        let sources = &mut [&mut q, &mut k, &mut v, &mut m, &mut s];
        supports(view(&node(GGML_OP_FLASH_ATTN_EXT, F32, [96, 8, 3, 2], sources))).is_ok()
    }

    #[test]
    fn types_and_shapes() {
        for (kind, kv_heads, mask, mask_positions, expected) in [
            (F16, 2, F16, 3, true),
            (Q8_0, 8, F16, 3, true),
            (Q4_0, 1, F16, 64, true),
            (F32, 4, F16, 3, true),
            (BF16, 4, F16, 3, true),
            (Q5_1, 4, F16, 3, true),
            (MXFP4, 4, F16, 3, false),
            (I32, 4, F16, 3, false),
            (F16, 3, F16, 3, false),
            (F16, 2, F32, 3, false),
            (F16, 2, F16, 2, false),
        ] {
            let what = format!("{kind:?} {kv_heads} {mask:?} {mask_positions}");
            assert_eq!(claims(kind, kv_heads, mask, mask_positions), expected, "{what}");
        }
    }

    #[test]
    fn alibi_slopes_go_onto_the_wire() {
        let mut q = tensor(F32, [64, 3, 12, 1]);
        let mut attention = node(GGML_OP_FLASH_ATTN_EXT, F32, [64, 12, 3, 1], &mut [&mut q]);
        attention.op_params[..3].copy_from_slice(&[0.125f32, 8.0, 30.0].map(|x| x.to_bits() as i32));
        let float = |index: usize| f32::from_bits(params(view(&attention))[index] as u32);
        assert_eq!([float(0), float(1), float(2), float(3)], [0.125, 30.0, 0.5, 0.5f32.sqrt()]);
        assert_eq!(params(view(&attention))[4], 8);
        attention.op_params[1] = 0;
        assert_eq!(params(view(&attention))[2..5], [0, 0, 0]);
    }
}
