//! Normalisation of rows: RMS_NORM, NORM and L2_NORM, and the multiplication and addition that follow in a graph; of
//! groups of planes: GROUP_NORM.
//!
//! `htp_norm_params` has eps first, where ggml keeps it.

use super::claim::{rule, source, Claim, RESULT_ROWS, SAME, SAME_SHAPE, SOURCE_ROWS};
use super::{Family, Params};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::{ElementType, Tensor};

/// See the module.
pub const FAMILY: Family = Family { name: "norm", select, claims: CLAIMS, sources: 1, tiled_source: None, params };

fn select(node: Tensor) -> Option<wire::htp_op> {
    match node.op() {
        ggml::GGML_OP_RMS_NORM => Some(wire::HTP_OP_RMS_NORM),
        ggml::GGML_OP_NORM => Some(wire::HTP_OP_NORM),
        ggml::GGML_OP_L2_NORM => Some(wire::HTP_OP_L2_NORM),
        ggml::GGML_OP_GROUP_NORM => Some(wire::HTP_OP_GROUP_NORM),
        _ => None,
    }
}

/// See [`Claim`].
const CLAIMS: &[Claim] = &[
    Claim {
        ops: &[wire::HTP_OP_RMS_NORM, wire::HTP_OP_NORM, wire::HTP_OP_L2_NORM],
        sources: &[source("rows")],
        types: &[&[&[ElementType::F32], SAME]],
        rules: &[SAME_SHAPE],
    },
    Claim {
        ops: &[wire::HTP_OP_GROUP_NORM],
        sources: &[source("image")],
        types: &[&[&[ElementType::F32], SAME]],
        rules: &[
            SAME_SHAPE,
            SOURCE_ROWS,
            RESULT_ROWS,
            rule!("there is at least one group", |node| Some(node.params()[0] >= 1)),
        ],
    },
];

/// The source that the op of `first` reads more when it computes `next` as well, which uses the result of `last`:
/// the weight of a MUL behind a normalisation, the addend of an ADD behind that. `None`: it cannot do so.
pub fn absorb<'a>(first: Tensor<'a>, last: Tensor<'a>, next: Tensor<'a>) -> Option<Tensor<'a>> {
    if !matches!(first.op(), ggml::GGML_OP_RMS_NORM | ggml::GGML_OP_NORM) {
        return None;
    }
    let is_first = first.as_ptr() == last.as_ptr();
    let fits = (is_first && next.op() == ggml::GGML_OP_MUL)
        || (!is_first && last.op() == ggml::GGML_OP_MUL && next.op() == ggml::GGML_OP_ADD);
    if !fits {
        return None;
    }
    let (a, b) = (next.src(0)?, next.src(1)?);
    let other = match (a.as_ptr() == last.as_ptr(), b.as_ptr() == last.as_ptr()) {
        (true, false) => b,
        (false, true) => a,
        _ => return None,
    };
    let all_f32 = [other, next].iter().all(|t| t.element_type() == Some(ElementType::F32));
    (all_f32 && next.same_shape(first) && other.can_repeat_to(next)).then_some(other)
}

fn params(node: Tensor) -> Params {
    let mut params = Params::default();
    // GROUP_NORM has its groups in front of eps.
    match (node.op(), node.params()) {
        (ggml::GGML_OP_GROUP_NORM, [groups, eps, ..]) => (params[0], params[1]) = (eps, groups),
        (_, [eps, ..]) => params[0] = eps,
    }
    params
}

#[cfg(test)]
mod tests {
    use super::{absorb, params};
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::*;
    use crate::ops::supports;

    #[test]
    fn eps_goes_onto_the_wire() {
        let mut x = tensor(F32, [5, 3, 1, 1]);
        let mut norm = node(GGML_OP_RMS_NORM, F32, [5, 3, 1, 1], &mut [&mut x]);
        norm.op_params[0] = 1e-5f32.to_bits() as i32;
        assert!(supports(view(&norm)).is_ok());
        assert_eq!(params(view(&norm))[0], 1e-5f32.to_bits() as i32);
        let mut x = tensor(F16, [5, 3, 1, 1]);
        let norm = node(GGML_OP_RMS_NORM, F32, [5, 3, 1, 1], &mut [&mut x]);
        assert!(supports(view(&norm)).is_err());
    }

    #[test]
    fn groups_follow_eps_on_the_wire() {
        let mut x = tensor(F32, [5, 3, 8, 2]);
        let mut norm = node(GGML_OP_GROUP_NORM, F32, [5, 3, 8, 2], &mut [&mut x]);
        norm.op_params[..2].copy_from_slice(&[4, 1e-5f32.to_bits() as i32]);
        assert_eq!(supports(view(&norm)), Ok(()));
        assert_eq!(params(view(&norm))[..2], [1e-5f32.to_bits() as i32, 4]);
        norm.op_params[0] = 0;
        assert!(supports(view(&norm)).is_err(), "no groups");
    }

    #[test]
    fn a_product_and_then_a_sum_are_absorbed() {
        let ne = [8, 3, 1, 1];
        let (mut x, mut w, mut c) = (tensor(F32, ne), tensor(F32, [8, 1, 1, 1]), tensor(F32, ne));
        let mut norm = node(GGML_OP_RMS_NORM, F32, ne, &mut [&mut x]);
        let mut mul = node(GGML_OP_MUL, F32, ne, &mut [&mut norm, &mut w]);
        let add = node(GGML_OP_ADD, F32, ne, &mut [&mut c, &mut mul]);
        let is = |found: Option<crate::ggml::tensor::Tensor>, expected: &ggml_tensor| {
            found.is_some_and(|t| std::ptr::eq(t.as_ptr(), expected))
        };
        assert!(is(absorb(view(&norm), view(&norm), view(&mul)), &w));
        assert!(is(absorb(view(&norm), view(&mul), view(&add)), &c));
        assert!(absorb(view(&norm), view(&norm), view(&add)).is_none(), "a sum without a product");
        assert!(absorb(view(&mul), view(&mul), view(&add)).is_none(), "no normalisation");
    }

    #[test]
    fn what_is_not_absorbed() {
        let ne = [8, 3, 1, 1];
        let mut x = tensor(F32, ne);
        let mut norm = node(GGML_OP_NORM, F32, ne, &mut [&mut x]);
        let (mut same, mut copy) = (norm, norm);
        let mut half = tensor(F16, ne);
        let mut large = tensor(F32, [8, 6, 1, 1]);
        let square = node(GGML_OP_MUL, F32, ne, &mut [&mut norm, &mut same]);
        let twice = node(GGML_OP_MUL, F32, ne, &mut [&mut same, &mut copy]);
        let mixed = node(GGML_OP_MUL, F32, ne, &mut [&mut norm, &mut half]);
        let repeated = node(GGML_OP_MUL, F32, [8, 6, 1, 1], &mut [&mut large, &mut norm]);
        assert!(absorb(view(&norm), view(&norm), view(&square)).is_some(), "another tensor with the same contents");
        assert!(absorb(view(&norm), view(&norm), view(&twice)).is_none(), "it does not use the result");
        assert!(absorb(view(&norm), view(&norm), view(&mixed)).is_none(), "f16");
        assert!(absorb(view(&norm), view(&norm), view(&repeated)).is_none(), "the result is repeated");
        let l2 = node(GGML_OP_L2_NORM, F32, ne, &mut [&mut x]);
        assert!(absorb(view(&l2), view(&l2), view(&square)).is_none(), "L2_NORM");
    }
}
