//! What the DSP can compute: one file an op family, with the name of its kernel folder in `htp-kernels/ops/`.
//!
//! A family says which nodes it takes ([`Family::select`]), whether it can compute one ([`Family::supports`]: the only
//! place that states types, shapes and strides) and how its arguments go onto the wire ([`Family::params`]).

mod attention;
mod binary;
mod conv;
mod copy;
mod gather;
mod matmul;
pub mod norm;
mod reduce;
mod rope;
mod softmax;
mod sort;

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
    /// Whether the DSP computes `node` correctly.
    pub supports: fn(node: Tensor) -> Result<(), Declined>,
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
    rope::FAMILY,
    softmax::FAMILY,
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
    let (family, _) = find(node).ok_or("no kernel for this op")?;
    let mut tensors = std::iter::once(Some(node)).chain((0..family.sources).map(|index| node.src(index))).flatten();
    if !tensors.all(fits_the_wire) {
        return Err("a shape or stride beyond 32 bits, or a type that the DSP does not know");
    }
    (family.supports)(node)
}

/// Type, shape and strides as the wire carries them; the DSP counts rows in 32 bits.
pub fn fits_the_wire(t: Tensor) -> bool {
    t.element_type().is_some()
        && t.ne().iter().all(|&n| (0..=i64::from(i32::MAX)).contains(&n))
        && t.nb().iter().all(|&n| u32::try_from(n).is_ok())
        && u32::try_from(t.rows()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// (number, NAME, family) of every line of the op list.
    fn op_list() -> Vec<(u32, String, String)> {
        include_str!("../../include/htp/op_list.h")
            .lines()
            .filter_map(|line| line.trim().strip_prefix("X(")?.split_once(')'))
            .map(|(inside, _)| {
                let mut words = inside.split(',').map(str::trim);
                let mut word = || words.next().expect("three words").to_string();
                (word().parse().expect("a number"), word(), word())
            })
            .collect()
    }

    #[test]
    fn every_op_of_the_list_has_a_host_entry_and_a_kernel_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let list = op_list();
        assert!(list.len() >= 6);
        for (_, name, family) in &list {
            assert!(FAMILIES.iter().any(|f| f.name == family), "{name}: src/ops has no family {family}");
            assert!(root.join(format!("src/ops/{family}.rs")).is_file(), "{name}: src/ops/{family}.rs is missing");
            assert!(root.join(format!("htp-kernels/ops/{family}")).is_dir(), "{name}: no kernel folder {family}");
        }
        for family in FAMILIES {
            assert!(list.iter().any(|(_, _, f)| f == family.name), "{} is not in op_list.h", family.name);
        }
    }

    #[test]
    fn numbers_are_not_used_twice() {
        let mut numbers: Vec<u32> = op_list().iter().map(|(number, ..)| *number).collect();
        numbers.sort_unstable();
        assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]), "{numbers:?}");
    }
}
