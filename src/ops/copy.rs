//! Moving elements: CPY, CONT and DUP to another shape, type or stride; REPEAT, CONCAT, PAD.

use super::claim::{rule, source, Claim, Rule, Types, RESULT_ROWS, SAME};
use super::{Family, Params};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::{
    self, BF16, F16, F32, I16, I32, I64, I8, IQ4_NL, IQ4_XS, MXFP4, Q2_K, Q3_K, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K,
    Q6_K, Q8_0,
};
use crate::ggml::tensor::Tensor;

/// See the module. CPY has its result as a second source, of which it is a view.
pub const FAMILY: Family = Family { name: "copy", select, claims: CLAIMS, sources: 2, tiled_source: None, params };

/// ggml keeps the sizes of PAD in the first eight words of its arguments, whether it is circular in the ninth.
const PAD_PARAMS: usize = 9;

fn select(node: Tensor) -> Option<wire::htp_op> {
    match node.op() {
        ggml::GGML_OP_CPY => Some(wire::HTP_OP_CPY),
        ggml::GGML_OP_CONT | ggml::GGML_OP_DUP => Some(wire::HTP_OP_CONT),
        ggml::GGML_OP_REPEAT => Some(wire::HTP_OP_REPEAT),
        ggml::GGML_OP_CONCAT => Some(wire::HTP_OP_CONCAT),
        ggml::GGML_OP_PAD => Some(wire::HTP_OP_PAD),
        _ => None,
    }
}

const SINGLE: Types = &[F32, F16, BF16, I64, I32, I16, I8];
const FLOAT: Types = &[F32, F16, BF16];
const BLOCKS: Types = &[Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, MXFP4, IQ4_NL];
/// Blocks that are taken apart, but not made.
const LARGE_BLOCKS: Types = &[Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_XS];
const ANY: Types = ElementType::ALL;

const COUNTED: Rule = rule!("tensors have less than 2^32 elements", |node| {
    Some(node.src(1).is_none_or(|t| elements(t).is_some()) && elements(node.src(0)?).and(elements(node)).is_some())
});

/// See [`Claim`].
const CLAIMS: &[Claim] = &[
    Claim {
        ops: &[wire::HTP_OP_CPY, wire::HTP_OP_CONT],
        sources: &[source("elements")],
        types: &[
            &[FLOAT, FLOAT],
            &[FLOAT, BLOCKS],
            &[BLOCKS, &[F32]],
            &[LARGE_BLOCKS, &[F32]],
            &[&[F32], &[I32]],
            &[&[I32], &[F32]],
            &[ANY, SAME],
        ],
        rules: &[
            rule!("the result has as many elements as the source, less than 2^32", |node| {
                Some(elements(node)? == elements(node.src(0)?)?)
            }),
            // Blocks are moved whole, or made of or into as many elements side by side.
            rule!(
                "to or from another type that is quantised, rows of both are whole blocks of that type (256 for the K \
                   types and IQ4_XS, 32 for others), side by side",
                |node| {
                    let (from, to) = (node.src(0)?.element_type()?, node.element_type()?);
                    let block = from.block_elements().max(to.block_elements());
                    let whole = |t: Tensor| t.has_contiguous_rows() && t.ne()[0] % block as i64 == 0;
                    Some(from == to || block == 1 || (whole(node.src(0)?) && whole(node)))
                }
            ),
        ],
    },
    Claim {
        ops: &[wire::HTP_OP_REPEAT],
        sources: &[source("part")],
        types: &[&[SINGLE, SAME]],
        rules: &[
            COUNTED,
            RESULT_ROWS,
            rule!("the part can be repeated to the shape of the result", |node| Some(node.src(0)?.can_repeat_to(node))),
        ],
    },
    Claim {
        ops: &[wire::HTP_OP_CONCAT],
        sources: &[source("a"), source("b")],
        types: &[&[ANY, SAME, SAME]],
        rules: &[
            COUNTED,
            RESULT_ROWS,
            rule!("a and b have the shape of the result but in the dimension in which they add up to it", adds_up),
        ],
    },
    Claim {
        ops: &[wire::HTP_OP_PAD],
        sources: &[source("middle")],
        types: &[&[SINGLE, SAME]],
        rules: &[
            COUNTED,
            RESULT_ROWS,
            rule!("padding is not negative, and makes up the difference between the shapes", padding_fits),
            rule!("circular padding has something to go round in", |node| {
                Some(node.params()[8] == 0 || !node.src(0)?.is_empty())
            }),
        ],
    },
];

/// The DSP counts elements in 32 bits.
fn elements(t: Tensor) -> Option<u32> {
    t.ne().iter().try_fold(1i64, |product, &n| product.checked_mul(n)).and_then(|n| u32::try_from(n).ok())
}

fn adds_up(node: Tensor) -> Option<bool> {
    let (a, b) = (node.src(0)?.ne(), node.src(1)?.ne());
    let dim = usize::try_from(node.params()[0]).ok().filter(|&dim| dim < 4)?;
    let fits = |d: usize| match node.ne()[d] {
        all if d == dim => a[d].checked_add(b[d]) == Some(all),
        all => a[d] == all && b[d] == all,
    };
    Some((0..4).all(fits))
}

fn padding_fits(node: Tensor) -> Option<bool> {
    let (params, src) = (node.params(), node.src(0)?);
    let fits = |d: usize| i64::from(params[2 * d]) + i64::from(params[2 * d + 1]) + src.ne()[d] == node.ne()[d];
    Some(params[..8].iter().all(|&n| n >= 0) && (0..4).all(fits))
}

fn params(node: Tensor) -> Params {
    let mut params = Params::default();
    let used = match node.op() {
        ggml::GGML_OP_CONCAT => 1,
        ggml::GGML_OP_PAD => PAD_PARAMS,
        _ => 0,
    };
    params[..used].copy_from_slice(&node.params()[..used]);
    params
}

#[cfg(test)]
mod tests {
    use super::params;
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::{self, *};
    use crate::ops::supports;

    fn copies(from: ElementType, from_ne: [i64; 4], to: ElementType, to_ne: [i64; 4]) -> bool {
        let mut src = tensor(from, from_ne);
        supports(view(&node(GGML_OP_CPY, to, to_ne, &mut [&mut src]))).is_ok()
    }

    #[test]
    fn copies_between_types_and_shapes() {
        assert!(copies(F32, [5, 3, 2, 1], F16, [3, 5, 1, 2]));
        assert!(copies(I64, [5, 3, 2, 1], I64, [30, 1, 1, 1]));
        assert!(copies(F32, [64, 3, 1, 1], Q8_0, [32, 6, 1, 1]));
        assert!(copies(Q4_0, [64, 3, 1, 1], Q4_0, [192, 1, 1, 1]));
        assert!(!copies(F32, [5, 3, 2, 1], F32, [5, 3, 1, 1]), "other number of elements");
        assert!(!copies(F16, [5, 3, 2, 1], I32, [5, 3, 2, 1]), "no such conversion");
        assert!(!copies(F32, [16, 2, 1, 1], Q8_0, [32, 1, 1, 1]), "rows of half a block");
        assert!(copies(Q6_K, [512, 3, 1, 1], F32, [256, 6, 1, 1]));
        assert!(copies(IQ4_XS, [512, 3, 1, 1], IQ4_XS, [256, 6, 1, 1]));
        assert!(!copies(Q6_K, [512, 3, 1, 1], F32, [128, 12, 1, 1]), "rows of half a block of 256");
        assert!(!copies(Q4_K, [256, 3, 1, 1], F16, [256, 3, 1, 1]), "blocks become f32");
        assert!(!copies(F32, [256, 3, 1, 1], Q4_K, [256, 3, 1, 1]), "blocks of 256 are not made");
        assert!(!copies(F32, [1 << 20, 1 << 12, 1, 1], F32, [1 << 20, 1 << 12, 1, 1]), "beyond 32 bits");
    }

    #[test]
    fn quantised_rows_come_from_elements_side_by_side() {
        let mut src = tensor(F32, [64, 32, 1, 1]);
        src.nb.swap(0, 1);
        assert!(supports(view(&node(GGML_OP_CPY, Q8_0, [64, 32, 1, 1], &mut [&mut src]))).is_err());
        assert!(supports(view(&node(GGML_OP_CONT, F32, [64, 32, 1, 1], &mut [&mut src]))).is_ok());
    }

    #[test]
    fn concat_adds_up_in_one_dimension() {
        let (mut a, mut b) = (tensor(F16, [8, 3, 2, 1]), tensor(F16, [8, 4, 2, 1]));
        let mut both = node(GGML_OP_CONCAT, F16, [8, 7, 2, 1], &mut [&mut a, &mut b]);
        both.op_params[0] = 1;
        assert!(supports(view(&both)).is_ok());
        assert_eq!(params(view(&both))[..2], [1, 0]);
        both.op_params[0] = 0;
        assert!(supports(view(&both)).is_err());
        both.op_params[0] = 4;
        assert!(supports(view(&both)).is_err());
    }

    #[test]
    fn padding_is_not_negative() {
        let mut src = tensor(F32, [8, 3, 2, 1]);
        let mut pad = node(GGML_OP_PAD, F32, [11, 3, 2, 1], &mut [&mut src]);
        pad.op_params[..2].copy_from_slice(&[1, 2]);
        pad.op_params[8] = 1;
        assert!(supports(view(&pad)).is_ok());
        assert_eq!(params(view(&pad))[..9], [1, 2, 0, 0, 0, 0, 0, 0, 1]);
        pad.op_params[..2].copy_from_slice(&[-1, 4]);
        assert!(supports(view(&pad)).is_err());
    }

    #[test]
    fn repeat_wants_whole_repetitions() {
        for (ne, expected) in [([16, 3, 4, 1], true), ([8, 3, 3, 1], false)] {
            let mut src = tensor(F32, [8, 3, 2, 1]);
            assert_eq!(supports(view(&node(GGML_OP_REPEAT, F32, ne, &mut [&mut src]))).is_ok(), expected, "{ne:?}");
        }
    }
}
