//! From ggml's graph to batches: which nodes are computed, in which order, with which tensors. No side effects.

mod fuse;

use std::ops::RangeInclusive;

use crate::batch::{Builder, Full, Op, Place, TensorArg};
use crate::ggml::tensor::Tensor;
use crate::ops;

/// A batch and, for messages, the nodes that each op computes, by their indices in the graph.
pub struct PlannedBatch {
    /// The batch.
    pub batch: Builder,
    /// First and last node of each op; between them are only nodes that it computes, and views.
    pub nodes: Vec<RangeInclusive<usize>>,
}

/// A node that cannot be computed: ggml gave the graph to the wrong backend, or the program changed it afterwards.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("node {index} ({node}) cannot be computed: {reason}")]
pub struct PlanError {
    /// Index in the graph.
    pub index: usize,
    /// The tensor.
    pub node: String,
    /// Why.
    pub reason: String,
}

/// Plans the nodes of a graph, up to `max_ops` ops a batch. `locate` finds the memory of a tensor; `private` says
/// whether the results of all but the last of some nodes are used by these nodes alone: such results need no memory.
///
/// # Errors
/// The first node that the DSP cannot compute.
pub fn plan<'a>(
    nodes: &[Tensor<'a>],
    max_ops: usize,
    private: impl Fn(&[usize]) -> bool,
    mut locate: impl FnMut(Tensor<'a>) -> Result<Place, String>,
) -> Result<Vec<PlannedBatch>, PlanError> {
    let mut batches = Vec::new();
    let mut current = PlannedBatch { batch: Builder::new(max_ops), nodes: Vec::new() };
    let mut next = 0;
    while let Some(&node) = nodes.get(next) {
        let index = next;
        next += 1;
        if ops::is_view_op(node) || node.is_empty() || !node.wants_compute() {
            continue;
        }
        let group = fuse::group(nodes, index, &private);
        next = group.last_index + 1;
        let op =
            encode(&group, &mut locate).map_err(|reason| PlanError { index, node: format!("{node:?}"), reason })?;
        if current.batch.push(&op) == Err(Full) {
            let next = PlannedBatch { batch: Builder::new(max_ops), nodes: Vec::new() };
            batches.push(std::mem::replace(&mut current, next));
            current.batch.push(&op).map_err(|Full| PlanError {
                index,
                node: format!("{node:?}"),
                reason: "it names more tensors than a batch can hold".into(),
            })?;
        }
        current.nodes.push(index..=group.last_index);
    }
    if !current.batch.is_empty() {
        batches.push(current);
    }
    Ok(batches)
}

fn encode<'a>(
    group: &fuse::Group<'a>,
    locate: &mut impl FnMut(Tensor<'a>) -> Result<Place, String>,
) -> Result<Op, String> {
    let node = group.first;
    ops::supports(node)?;
    let (family, op) = ops::find(node).ok_or("no kernel for this op")?;
    let mut argument = |t: Tensor<'a>| -> Result<TensorArg, String> {
        let kind = t.element_type().ok_or("a type that the DSP does not know")?;
        Ok(TensorArg {
            place: locate(t)?,
            kind: kind.to_wire(),
            // supports() and group() have checked that these fit.
            ne: t.ne().map(|n| n as u32),
            nb: t.nb().map(|n| n as u32),
        })
    };
    let extra = group.extra.iter().map(|&t| Some(t));
    let src = (0..family.sources)
        .map(|index| node.src(index))
        .chain(extra)
        .map(|source| source.map(&mut argument).transpose())
        .collect::<Result<_, _>>()?;
    Ok(Op { op: op as u16, dst: argument(group.last)?, src, params: (family.params)(node) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::wire::HTP_LAYOUT_ROWS;
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::*;

    fn anywhere(t: Tensor) -> Result<Place, String> {
        let offset = t.as_ptr() as u64 % 65536;
        Ok(Place { fd: 3, buffer_size: 1 << 20, offset, layout: HTP_LAYOUT_ROWS as u16 })
    }

    #[test]
    fn views_and_nodes_that_are_not_wanted_are_left_out() {
        let (mut x, mut y) = (tensor(F32, [8, 1, 1, 1]), tensor(F32, [8, 1, 1, 1]));
        let mut add = node(GGML_OP_ADD, F32, [8, 1, 1, 1], &mut [&mut x, &mut y]);
        let idle = add;
        add.flags = GGML_TENSOR_FLAG_COMPUTE as i32;
        let reshape = node(GGML_OP_RESHAPE, F32, [4, 2, 1, 1], &mut [&mut add.clone()]);
        let graph = [idle, add, reshape, add, add];
        let nodes: Vec<_> = graph.iter().map(view).collect();
        let batches = plan(&nodes, 2, |_| true, anywhere).expect("a plan");
        let nodes: Vec<_> = batches.iter().map(|b| b.nodes.clone()).collect();
        assert_eq!(nodes, [vec![1..=1, 3..=3], vec![4..=4]]);
    }

    #[test]
    fn a_node_that_cannot_be_computed_is_named() {
        let (mut x, mut y) = (tensor(I32, [8, 1, 1, 1]), tensor(F32, [8, 1, 1, 1]));
        let mut add = node(GGML_OP_ADD, F32, [8, 1, 1, 1], &mut [&mut x, &mut y]);
        add.flags = GGML_TENSOR_FLAG_COMPUTE as i32;
        let error = plan(&[view(&add)], 2, |_| true, anywhere).err().expect("an error");
        assert!(error.index == 0 && !error.reason.is_empty(), "{error}");
        let lost = plan(&[view(&add)], 2, |_| true, |_| Err("not in a device buffer".into()));
        assert!(lost.is_err());
    }
    #[test]
    fn a_norm_with_its_weight_is_one_op() {
        let ne = [8, 3, 1, 1];
        let (mut x, mut weight) = (tensor(F32, ne), tensor(F32, [8, 1, 1, 1]));
        let mut norm = node(GGML_OP_RMS_NORM, F32, ne, &mut [&mut x]);
        let mut product = node(GGML_OP_MUL, F32, ne, &mut [&mut norm, &mut weight]);
        product.data = std::ptr::without_provenance_mut(0x1000);
        for t in [&mut norm, &mut product] {
            t.flags = GGML_TENSOR_FLAG_COMPUTE as i32;
        }
        let nodes = [view(&norm), view(&product)];
        let ops = |private: bool| -> Vec<RangeInclusive<usize>> {
            let batches = plan(&nodes, 8, |_| private, anywhere).expect("a plan");
            batches.iter().flat_map(|b| b.nodes.clone()).collect()
        };
        assert_eq!((ops(true), ops(false)), (vec![0..=1], vec![0..=0, 1..=1]));
    }
}
