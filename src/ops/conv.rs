//! SSM_CONV: a short filter along the tokens of each channel,
//! `dst[channel, token, sequence] = sum over k of src0[token + k, channel, sequence] * src1[k, channel]`.

use super::claim::{rule, source, Claim, RESULT_ROWS, SOURCE_ROWS};
use super::Family;
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::F32;
use crate::ggml::tensor::Tensor;

/// See the module.
pub const FAMILY: Family =
    Family { name: "conv", select, claims: CLAIMS, sources: 2, tiled_source: None, params: |_| [0; 16] };

fn select(node: Tensor) -> Option<wire::htp_op> {
    (node.op() == ggml::GGML_OP_SSM_CONV).then_some(wire::HTP_OP_SSM_CONV)
}

/// See [`Claim`].
const CLAIMS: &[Claim] = &[Claim {
    ops: &[wire::HTP_OP_SSM_CONV],
    sources: &[source("tokens"), source("filter")],
    types: &[&[&[F32], &[F32], &[F32]]],
    rules: &[
        RESULT_ROWS,
        SOURCE_ROWS,
        rule!("elements of a row of the filter lie side by side", |node| Some(node.src(1)?.has_contiguous_rows())),
        rule!(
            "the filter is [taps, channels] with at least one tap, the result [channels, n, sequences], \
               tokens are [n + taps - 1, channels, sequences]",
            shapes_fit
        ),
    ],
}];

fn shapes_fit(node: Tensor) -> Option<bool> {
    let ([taps, filters, f2, f3], [channels, n, sequences, n3]) = (node.src(1)?.ne(), node.ne());
    let fits = taps >= 1
        && node.src(0)?.ne() == [n + taps - 1, channels, sequences, 1]
        && filters == channels
        && [f2, f3, n3] == [1; 3];
    Some(fits)
}

#[cfg(test)]
mod tests {
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::*;
    use crate::ops::supports;

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
