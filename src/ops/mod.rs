//! What the DSP can compute: one file an op family, with the name of its kernel folder in `htp-kernels/ops/`.
//!
//! A family says which nodes it takes ([`Family::select`]), which of them it can compute (its [`Claim`]s: the only place
//! that states types, shapes and strides, for the code and for `docs/ops.md`) and how arguments go onto the wire
//! ([`Family::params`]).

mod attention;
mod binary;
pub mod claim;
mod conv;
mod copy;
pub mod docs;
mod gather;
mod glu;
mod image;
mod matmul;
pub mod norm;
mod pattern;
mod recurrent;
mod reduce;
mod resample;
mod rope;
mod softmax;
mod solve;
mod sort;
mod unary;

use claim::{rule, Claim, Rule};

use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::Tensor;

/// Arguments of an op on the wire.
pub type Params = [i32; wire::HTP_MAX_PARAMS as usize];

/// Why an op is left to another backend, for the log.
pub type Declined = &'static str;

/// Ops that share a kernel folder.
pub struct Family {
    /// Name of the family: of this crate's file and of the kernel folder.
    pub name: &'static str,
    /// The wire op that computes `node`, `None` when the node belongs to another family.
    pub select: fn(node: Tensor) -> Option<wire::htp_op>,
    /// Which nodes the DSP computes correctly: all of the family's ops, once each.
    pub claims: &'static [Claim],
    /// How many of ggml's sources the op reads.
    pub sources: usize,
    /// The source that may be stored in tiles, if any.
    pub tiled_source: Option<usize>,
    /// The op's arguments.
    pub params: fn(node: Tensor) -> Params,
}

/// Every family.
pub const FAMILIES: &[Family] = &[
    matmul::FAMILY,
    binary::FAMILY,
    norm::FAMILY,
    reduce::FAMILY,
    attention::FAMILY,
    gather::FAMILY,
    copy::FAMILY,
    sort::FAMILY,
    conv::FAMILY,
    recurrent::FAMILY,
    solve::FAMILY,
    rope::FAMILY,
    softmax::FAMILY,
    unary::FAMILY,
    glu::FAMILY,
    image::FAMILY,
    resample::FAMILY,
    pattern::FAMILY,
];

/// What every tensor that goes to the DSP has to be.
const GENERAL: &[Rule] = &[
    rule!("the type is one that the DSP knows", |t| Some(t.element_type().is_some())),
    rule!("dimensions and the number of rows are less than 2^31 and 2^32", |t| {
        Some(t.ne().iter().all(|&n| (0..=i64::from(i32::MAX)).contains(&n)) && u32::try_from(t.rows()).is_ok())
    }),
    rule!("strides are less than 2^32 bytes", |t| Some(t.nb().iter().all(|&n| u32::try_from(n).is_ok()))),
];

/// The family that computes `node`, and the wire op.
pub fn find(node: Tensor) -> Option<(&'static Family, wire::htp_op)> {
    FAMILIES.iter().find_map(|family| (family.select)(node).map(|op| (family, op)))
}

/// Whether `node` only gives another shape to memory that exists: nothing to compute.
pub fn is_view_op(node: Tensor) -> bool {
    use ggml::*;
    matches!(node.op(), GGML_OP_NONE | GGML_OP_RESHAPE | GGML_OP_VIEW | GGML_OP_PERMUTE | GGML_OP_TRANSPOSE)
}

/// Whether the DSP computes `node` correctly.
///
/// # Errors
/// Why not, in a few words.
pub fn supports(node: Tensor) -> Result<(), Declined> {
    if is_view_op(node) {
        return Ok(());
    }
    let (family, op) = find(node).ok_or("no kernel for this op")?;
    let mut tensors = std::iter::once(Some(node)).chain((0..family.sources).map(|index| node.src(index))).flatten();
    let broken = |t: Tensor| GENERAL.iter().find(|rule| (rule.holds)(t) != Some(true));
    if let Some(rule) = tensors.find_map(broken) {
        return Err(rule.broken);
    }
    claim::check(family.claims, op, node)
}

/// Whether the wire can carry `t`, whatever the op.
pub fn fits_the_wire(t: Tensor) -> bool {
    GENERAL.iter().all(|rule| (rule.holds)(t) == Some(true))
}

/// `slope_base` and `slope_heads` of an op's parameters for the largest ALiBi bias, which ggml has as the bits of a float,
/// and a number of heads. The slope of a head is a power of a base (htp/params.h); no bias is no slopes.
fn alibi(max_bias: i32, heads: i64) -> [i32; 3] {
    let max_bias = f32::from_bits(max_bias as u32);
    if max_bias.is_nan() || max_bias <= 0.0 {
        return [0; 3];
    }
    let slope_heads = 1i64 << heads.max(1).ilog2();
    let base = |bias: f32| (-bias / slope_heads as f32).exp2().to_bits() as i32;
    [base(max_bias), base(max_bias / 2.0), slope_heads as i32]
}

/// Name of a wire op, for messages.
pub fn name(op: wire::htp_op) -> &'static str {
    op_list().find(|(number, ..)| *number == op).map_or("?", |(_, name, _)| name)
}

/// Number, name and family of each op, from the list that the host and the DSP share.
fn op_list() -> impl Iterator<Item = (wire::htp_op, &'static str, &'static str)> {
    include_str!("../../include/htp/op_list.h").lines().filter_map(|line| {
        let (inside, _) = line.trim().strip_prefix("X(")?.split_once(')')?;
        let mut words = inside.split(',').map(str::trim);
        Some((words.next()?.parse().ok()?, words.next()?, words.next()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_op_of_the_list_has_a_host_entry_and_a_kernel_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let list: Vec<_> = op_list().collect();
        assert!(list.len() >= 6);
        for (_, name, family) in &list {
            assert!(FAMILIES.iter().any(|f| f.name == *family), "{name}: src/ops has no family {family}");
            assert!(root.join(format!("src/ops/{family}.rs")).is_file(), "{name}: src/ops/{family}.rs is missing");
            assert!(root.join(format!("htp-kernels/ops/{family}")).is_dir(), "{name}: no kernel folder {family}");
        }
        for family in FAMILIES {
            assert!(list.iter().any(|(_, _, f)| *f == family.name), "{} is not in op_list.h", family.name);
        }
    }

    #[test]
    fn numbers_are_not_used_twice() {
        let mut numbers: Vec<u32> = op_list().map(|(number, ..)| number).collect();
        numbers.sort_unstable();
        assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]), "{numbers:?}");
    }

    #[test]
    fn every_op_of_the_list_is_claimed_once_by_its_family() {
        let count = |family: &Family, op| family.claims.iter().filter(|claim| claim.ops.contains(&op)).count();
        let wrong: Vec<_> = op_list()
            .filter(|(op, _, name)| FAMILIES.iter().any(|f| count(f, *op) != usize::from(f.name == *name)))
            .map(|(_, op, family)| format!("{op} of {family}"))
            .collect();
        assert!(wrong.is_empty(), "no claim, or not exactly one of the family, for: {}", wrong.join(", "));
        for family in FAMILIES {
            for claim in family.claims {
                let sources = claim.sources.len();
                assert!(sources <= family.sources, "{}: the wire has no room for {sources} sources", family.name);
                assert!(
                    claim.types.iter().all(|types| types.len() == sources + 1),
                    "{}: not one a tensor",
                    family.name
                );
            }
        }
    }
}
