//! SSM_CONV: a short filter along the tokens of each channel,
//! `dst[channel, token, sequence] = sum over k of src0[token + k, channel, sequence] * src1[k, channel]`.

use super::{Declined, Family};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::{ElementType, Tensor};

/// See the module.
pub const FAMILY: Family =
    Family { name: "conv", select, supports, sources: 2, tiled_source: None, params: |_| [0; 16] };

fn select(node: Tensor) -> Option<wire::htp_op> {
    (node.op() == ggml::GGML_OP_SSM_CONV).then_some(wire::HTP_OP_SSM_CONV)
}

fn supports(node: Tensor) -> Result<(), Declined> {
    let (Some(tokens), Some(filter)) = (node.src(0), node.src(1)) else {
        return Err("a source is missing");
    };
    if [tokens, filter, node].iter().any(|t| t.element_type() != Some(ElementType::F32) || !t.has_contiguous_rows()) {
        return Err("not rows of f32");
    }
    let ([taps, filters, f2, f3], [channels, n, sequences, n3]) = (filter.ne(), node.ne());
    if taps < 1
        || tokens.ne() != [n + taps - 1, channels, sequences, 1]
        || filters != channels
        || [f2, f3, n3] != [1; 3]
    {
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
    fn shapes() {
        for (tokens, filter, expected) in [
            ([8, 6, 2, 1], [4, 6, 1, 1], true),
            ([8, 6, 2, 1], [3, 6, 1, 1], false),
            ([8, 6, 1, 1], [4, 6, 1, 1], false),
            ([8, 6, 2, 1], [4, 5, 1, 1], false),
        ] {
            let (mut x, mut w) = (tensor(F32, tokens), tensor(F32, filter));
            let conv = node(GGML_OP_SSM_CONV, F32, [6, 5, 2, 1], &mut [&mut x, &mut w]);
            assert_eq!(supports(view(&conv)).is_ok(), expected, "{tokens:?} {filter:?}");
        }
    }
}
