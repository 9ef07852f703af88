//! What a family claims: the types, shapes and strides of an op, stated once and used twice. [`check`] decides by them
//! on a node, and `docs/ops.md` is written from them ([`super::docs`]).

use super::Declined;
use crate::batch::wire;
use crate::ggml::tensor::{ElementType, Tensor};

/// What is claimed of one op, or of several that differ in nothing but what they compute.
pub struct Claim {
    /// The ops on the wire.
    pub ops: &'static [wire::htp_op],
    /// The sources that the op reads, in ggml's order.
    pub sources: &'static [Source],
    /// Combinations of types, of which one has to fit: those of each source, then those of the result.
    pub types: &'static [&'static [Types]],
    /// What has to hold besides. Strides and shapes are free where no rule limits them.
    pub rules: &'static [Rule],
}

/// Types of which a tensor has one, or [`SAME`].
pub type Types = &'static [ElementType];

/// The type of the first source.
pub const SAME: Types = &[];

/// One of ggml's sources of a node.
pub struct Source {
    /// What it is, for the documents.
    pub name: &'static str,
    /// Whether the op makes sense without it.
    pub optional: bool,
}

/// A source that has to be there.
pub const fn source(name: &'static str) -> Source {
    Source { name, optional: false }
}

/// A source that may be absent.
pub const fn optional(name: &'static str) -> Source {
    Source { name, optional: true }
}

/// A condition with the words for it. [`rule!`] makes one.
pub struct Rule {
    /// What has to hold, as a sentence without a full stop; sources by their names in the claim.
    pub says: &'static str,
    /// The same as a reason to decline.
    pub broken: Declined,
    /// Whether it does. `None`, for a source that is absent, means that it does not. All sources that are not optional
    /// are there, and types fit: both are checked first.
    pub holds: fn(node: Tensor) -> Option<bool>,
}

/// `rule!("what has to hold", |node| whether it does)`: a [`Rule`].
macro_rules! rule {
    ($says:literal, $holds:expr) => {
        $crate::ops::claim::Rule { says: $says, broken: concat!("not so: ", $says), holds: $holds }
    };
}
pub(super) use rule;

/// The first source and the result have the same shape.
pub const SAME_SHAPE: Rule =
    rule!("the result has the shape of the first source", |node| Some(node.src(0)?.same_shape(node)));

/// The result is made of rows without gaps.
pub const RESULT_ROWS: Rule =
    rule!("elements of a row of the result lie side by side", |node| Some(node.has_contiguous_rows()));

/// The first source is made of rows without gaps.
pub const SOURCE_ROWS: Rule =
    rule!("elements of a row of the first source lie side by side", |node| Some(node.src(0)?.has_contiguous_rows()));

/// Whether `claims` has one for `op` that `node` fits.
///
/// # Errors
/// What does not fit; when it is a rule, the rule.
pub fn check(claims: &[Claim], op: wire::htp_op, node: Tensor) -> Result<(), Declined> {
    let claim = claims.iter().find(|claim| claim.ops.contains(&op)).ok_or("no kernel for this op")?;
    let mut sources = claim.sources.iter().enumerate();
    if sources.any(|(index, source)| !source.optional && node.src(index).is_none()) {
        return Err("a source is missing");
    }
    if !claim.types.iter().any(|types| fits(claim, types, node)) {
        return Err("no kernel for these types");
    }
    match claim.rules.iter().find(|rule| (rule.holds)(node) != Some(true)) {
        Some(rule) => Err(rule.broken),
        None => Ok(()),
    }
}

/// Whether the types of `node` and of its sources are such a combination.
fn fits(claim: &Claim, types: &[Types], node: Tensor) -> bool {
    let first = node.src(0).and_then(Tensor::element_type);
    let is_one = |t: Tensor, types: Types| match t.element_type() {
        kind if types.is_empty() => kind == first,
        kind => kind.is_some_and(|kind| types.contains(&kind)),
    };
    let Some((result, sources)) = types.split_last() else { return false };
    let mut sources = sources.iter().take(claim.sources.len()).enumerate();
    is_one(node, result) && sources.all(|(index, types)| node.src(index).is_none_or(|t| is_one(t, types)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::*;

    const CLAIMS: &[Claim] = &[Claim {
        ops: &[wire::HTP_OP_MUL],
        sources: &[source("a"), optional("b")],
        types: &[&[&[F32], &[F16], &[F32]], &[&[F16], &[F32, F16], SAME]],
        rules: &[SAME_SHAPE, rule!("b has one row", |node| Some(node.src(1)?.rows() == 1))],
    }];

    fn verdict(op: wire::htp_op, a: ElementType, b: Option<ElementType>, b_rows: i64) -> Result<(), Declined> {
        let (mut x, mut y) = (tensor(a, [4, 2, 1, 1]), tensor(b.unwrap_or(F32), [4, b_rows, 1, 1]));
        let mut sources = vec![&mut x];
        if b.is_some() {
            sources.push(&mut y);
        }
        check(CLAIMS, op, view(&node(GGML_OP_MUL, a, [4, 2, 1, 1], &mut sources)))
    }

    #[test]
    fn all_parts_count() {
        assert_eq!(verdict(wire::HTP_OP_MUL, F32, Some(F16), 1), Ok(()));
        assert_eq!(verdict(wire::HTP_OP_MUL, F16, Some(F16), 1), Ok(()));
        assert_eq!(verdict(wire::HTP_OP_ADD, F32, Some(F16), 1), Err("no kernel for this op"));
        assert_eq!(verdict(wire::HTP_OP_MUL, F32, Some(F32), 1), Err("no kernel for these types"));
        assert_eq!(verdict(wire::HTP_OP_MUL, I32, Some(F16), 1), Err("no kernel for these types"));
        assert_eq!(verdict(wire::HTP_OP_MUL, F32, Some(F16), 2), Err("not so: b has one row"));
        // A rule about an absent source does not hold, whoever forgot that the source is optional.
        assert_eq!(verdict(wire::HTP_OP_MUL, F32, None, 0), Err("not so: b has one row"));
        let alone = node(GGML_OP_MUL, F32, [4, 2, 1, 1], &mut []);
        assert_eq!(check(CLAIMS, wire::HTP_OP_MUL, view(&alone)), Err("a source is missing"));
    }
}
