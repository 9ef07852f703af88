//! Neighbours in a graph that one op computes: a normalisation and the product and sum that follow it.

use crate::ggml::tensor::Tensor;
use crate::ops;

/// Nodes that one op computes; often only one.
pub struct Group<'a> {
    /// The node that says which op it is.
    pub first: Tensor<'a>,
    /// The node whose result the op writes. Those before it are never stored.
    pub last: Tensor<'a>,
    /// Index of `last` in the graph.
    pub last_index: usize,
    /// What the op reads beside the sources of `first`.
    pub extra: Vec<Tensor<'a>>,
}

/// The group that starts with node `index`. `private` says of indices of nodes whether the results of all but the last
/// are used by these nodes alone.
pub fn group<'a>(nodes: &[Tensor<'a>], index: usize, private: &impl Fn(&[usize]) -> bool) -> Group<'a> {
    let first = nodes[index];
    let mut group = Group { first, last: first, last_index: index, extra: Vec::new() };
    let mut indices = vec![index];
    while let Some(next_index) = next(nodes, group.last_index) {
        let next = nodes[next_index];
        let Some(operand) = ops::norm::absorb(first, group.last, next) else { break };
        indices.push(next_index);
        let sources = group.extra.iter().chain([&operand]).copied().chain(first.src(0));
        if ![operand, next].into_iter().all(ops::fits_the_wire)
            || !next.wants_compute()
            || !sources.into_iter().all(|source| apart_or_same(source, next))
            || !private(&indices)
        {
            break;
        }
        group.extra.push(operand);
        (group.last, group.last_index) = (next, next_index);
    }
    group
}

/// The node behind `index` that is computed, if any.
fn next(nodes: &[Tensor], index: usize) -> Option<usize> {
    (index + 1..nodes.len()).find(|&i| !ops::is_view_op(nodes[i]))
}

/// Whether an op that reads an element of `source` before it writes the same element of `result` disturbs nothing.
///
/// ggml may give the result of the last node memory that was free when it was to be computed. The fused op reads the
/// first node's source at that time.
fn apart_or_same(source: Tensor, result: Tensor) -> bool {
    let (Some(a), Some(b)) = (source.memory(), result.memory()) else { return false };
    let apart = a.end <= b.start || b.end <= a.start;
    apart || (a == b && source.same_shape(result) && source.nb() == result.nb())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::F32;

    const NE: [i64; 4] = [8, 3, 1, 1];

    /// x, weight, addend, norm, product, sum; each at an address of its own.
    #[allow(clippy::vec_box, reason = "tensors point at one another, so they stay where they are")]
    fn graph() -> Vec<Box<ggml_tensor>> {
        let mut x = Box::new(tensor(F32, NE));
        let mut weight = Box::new(tensor(F32, [8, 1, 1, 1]));
        let mut addend = Box::new(tensor(F32, NE));
        let mut norm = Box::new(node(GGML_OP_RMS_NORM, F32, NE, &mut [&mut x]));
        let mut product = Box::new(node(GGML_OP_MUL, F32, NE, &mut [&mut norm, &mut weight]));
        let sum = Box::new(node(GGML_OP_ADD, F32, NE, &mut [&mut product, &mut addend]));
        let mut all = vec![x, weight, addend, norm, product, sum];
        for (index, t) in all.iter_mut().enumerate() {
            t.data = std::ptr::without_provenance_mut(0x1000 * (index + 1));
            t.flags = GGML_TENSOR_FLAG_COMPUTE as i32;
        }
        all
    }

    /// Indices, counted from the norm on, of the last node of the group, and how many further sources it has.
    fn grouped(all: &[Box<ggml_tensor>], private: impl Fn(&[usize]) -> bool) -> (usize, usize) {
        let nodes: Vec<Tensor> = all[3..].iter().map(|t| view(t)).collect();
        let group = group(&nodes, 0, &private);
        (group.last_index, group.extra.len())
    }

    #[test]
    fn a_product_and_a_sum_join_a_norm() {
        let mut all = graph();
        assert_eq!(grouped(&all, |_| true), (2, 2));
        let mut reshape = Box::new(node(GGML_OP_RESHAPE, F32, NE, &mut []));
        reshape.flags = GGML_TENSOR_FLAG_COMPUTE as i32;
        all.insert(4, reshape);
        assert_eq!(grouped(&all, |_| true), (3, 2), "views in between");
    }

    #[test]
    fn results_that_others_need_are_stored() {
        let all = graph();
        assert_eq!(grouped(&all, |_| false), (0, 0));
        assert_eq!(grouped(&all, |indices| indices.len() < 3), (1, 1));
        let mut all = graph();
        all[5].flags = 0;
        assert_eq!(grouped(&all, |_| true), (1, 1), "a node that nobody wants");
    }

    #[test]
    fn memory_that_is_reused() {
        let mut all = graph();
        all[5].data = all[0].data;
        assert_eq!(grouped(&all, |_| true), (2, 2), "in place");
        all[5].data = std::ptr::without_provenance_mut(0x1000 + 32);
        assert_eq!(grouped(&all, |_| true), (1, 1), "over a part of what is still read");
        all[4].data = all[1].data;
        assert_eq!(grouped(&all, |_| true), (0, 0), "over a weight for all rows");
    }
}
