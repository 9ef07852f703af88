//! Attention in one op: `softmax(scale * q k + slope * mask) v` for each query row, FLASH_ATTN_EXT.

use super::{Declined, Family, Params};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::{ElementType, Tensor};

/// See the module. Mask and sinks, the last two sources, may be absent.
pub const FAMILY: Family = Family { name: "attention", select, supports, sources: 5, tiled_source: None, params };

/// The largest head that the kernel has room for in VTCM whatever the DSP.
const MAX_HEAD: i64 = 1024;

fn select(node: Tensor) -> Option<wire::htp_op> {
    (node.op() == ggml::GGML_OP_FLASH_ATTN_EXT).then_some(wire::HTP_OP_FLASH_ATTN_EXT)
}

fn is_f32_rows(t: Tensor) -> bool {
    t.element_type() == Some(ElementType::F32) && t.has_contiguous_rows()
}

fn supports(node: Tensor) -> Result<(), Declined> {
    let (Some(q), Some(k), Some(v)) = (node.src(0), node.src(1), node.src(2)) else {
        return Err("a source is missing");
    };
    if !is_f32_rows(q) || !is_f32_rows(node) {
        return Err("queries or the result are not f32 rows");
    }
    for cache in [k, v] {
        use ElementType::{BF16, F16, F32, IQ4_NL, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0};
        if !matches!(cache.element_type(), Some(F32 | F16 | BF16 | Q8_0 | Q4_0 | Q4_1 | Q5_0 | Q5_1 | IQ4_NL)) {
            return Err("no kernel for this type of keys or values");
        }
        if !cache.has_contiguous_rows() {
            return Err("elements of keys or values are apart");
        }
    }
    let ([head, positions, heads, sequences], [k_head, keys, kv_heads, kv_sequences]) = (q.ne(), k.ne());
    let [v_head, ..] = v.ne();
    if !(1..=MAX_HEAD).contains(&head) || !(1..=MAX_HEAD).contains(&v_head) {
        return Err("the head is too large");
    }
    if head != k_head
        || v.ne() != [v_head, keys, kv_heads, kv_sequences]
        || keys < 1
        || kv_heads < 1
        || kv_sequences < 1
        || heads % kv_heads != 0
        || sequences % kv_sequences != 0
        || node.ne() != [v_head, heads, positions, sequences]
    {
        return Err("shapes do not fit together");
    }
    if let Some(mask) = node.src(3) {
        let [mask_keys, mask_positions, mask_heads, mask_sequences] = mask.ne();
        if mask.element_type() != Some(ElementType::F16) || !mask.has_contiguous_rows() {
            return Err("the mask is not f16 rows");
        }
        if mask_keys < keys || mask_positions < positions || mask_heads < 1 || mask_sequences < 1 {
            return Err("the mask is too small");
        }
    }
    if let Some(sinks) = node.src(4) {
        if sinks.element_type() != Some(ElementType::F32) || sinks.ne()[0] < heads {
            return Err("sinks are not f32, one a head");
        }
    }
    Ok(())
}

/// `htp_attention_params`. ggml has scale, largest ALiBi bias and soft cap.
fn params(node: Tensor) -> Params {
    let [scale, max_bias, softcap, ..] = node.params();
    let mut params = Params::default();
    params[0] = scale;
    params[1] = softcap;
    let max_bias = f32::from_bits(max_bias as u32);
    if let (true, Some(heads)) = (max_bias > 0.0, node.src(0).map(|q| q.ne()[2])) {
        let slope_heads = 1i64 << heads.max(1).ilog2();
        let base = |bias: f32| (-bias / slope_heads as f32).exp2().to_bits() as i32;
        params[2] = base(max_bias);
        params[3] = base(max_bias / 2.0);
        params[4] = slope_heads as i32;
    }
    params
}

#[cfg(test)]
mod tests {
    use super::{params, supports};
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::{self, *};

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
