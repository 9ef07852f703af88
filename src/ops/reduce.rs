//! Rows that become a number or running sums: SUM_ROWS, MEAN, ARGMAX and CUMSUM; SUM of all.

use super::claim::{rule, source, Claim, SAME, SAME_SHAPE, SOURCE_ROWS};
use super::Family;
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::{F32, I32};
use crate::ggml::tensor::Tensor;

/// See the module.
pub const FAMILY: Family =
    Family { name: "reduce", select, claims: CLAIMS, sources: 1, tiled_source: None, params: |_| [0; 16] };

fn select(node: Tensor) -> Option<wire::htp_op> {
    match node.op() {
        ggml::GGML_OP_SUM_ROWS => Some(wire::HTP_OP_SUM_ROWS),
        ggml::GGML_OP_MEAN => Some(wire::HTP_OP_MEAN),
        ggml::GGML_OP_SUM => Some(wire::HTP_OP_SUM),
        ggml::GGML_OP_ARGMAX => Some(wire::HTP_OP_ARGMAX),
        ggml::GGML_OP_CUMSUM => Some(wire::HTP_OP_CUMSUM),
        _ => None,
    }
}

/// See [`Claim`].
const CLAIMS: &[Claim] = &[
    Claim {
        ops: &[wire::HTP_OP_SUM_ROWS, wire::HTP_OP_MEAN],
        sources: &[source("rows")],
        types: &[&[&[F32], SAME]],
        rules: &[rule!("the result has the shape of the source but one element a row", |node| {
            Some(node.ne()[0] == 1 && node.ne()[1..] == node.src(0)?.ne()[1..])
        })],
    },
    Claim {
        ops: &[wire::HTP_OP_SUM],
        sources: &[source("elements")],
        types: &[&[&[F32], SAME]],
        // ggml's code for the CPU reads rows as if they did, so there is nothing to agree with when they do not.
        rules: &[SOURCE_ROWS, rule!("the result has one element", |node| Some(node.ne() == [1; 4]))],
    },
    Claim {
        ops: &[wire::HTP_OP_ARGMAX],
        sources: &[source("rows")],
        types: &[&[&[F32], &[I32]]],
        rules: &[rule!("the source is a matrix, and the result has an element for each of its rows", |node| {
            let [_, rows, n2, n3] = node.src(0)?.ne();
            Some((n2, n3) == (1, 1) && node.ne() == [rows, 1, 1, 1])
        })],
    },
    Claim { ops: &[wire::HTP_OP_CUMSUM], sources: &[source("rows")], types: &[&[&[F32], SAME]], rules: &[SAME_SHAPE] },
];

#[cfg(test)]
mod tests {
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::*;
    use crate::ops::supports;

    #[test]
    fn shapes_and_types() {
        let mut x = tensor(F32, [8, 3, 2, 1]);
        let mut matrix = tensor(F32, [8, 3, 1, 1]);
        let sums = node(GGML_OP_SUM_ROWS, F32, [1, 3, 2, 1], &mut [&mut x]);
        let means = node(GGML_OP_MEAN, F32, [1, 3, 2, 1], &mut [&mut x]);
        let sum = node(GGML_OP_SUM, F32, [1, 1, 1, 1], &mut [&mut x]);
        let running = node(GGML_OP_CUMSUM, F32, [8, 3, 2, 1], &mut [&mut x]);
        let largest = node(GGML_OP_ARGMAX, I32, [3, 1, 1, 1], &mut [&mut matrix]);
        assert!([&sums, &means, &sum, &running, &largest].iter().all(|t| supports(view(t)).is_ok()));
        let cube = node(GGML_OP_ARGMAX, I32, [3, 1, 1, 1], &mut [&mut x]);
        let float = node(GGML_OP_ARGMAX, F32, [3, 1, 1, 1], &mut [&mut matrix]);
        let whole = node(GGML_OP_SUM_ROWS, F32, [8, 3, 2, 1], &mut [&mut x]);
        let many = node(GGML_OP_SUM, F32, [1, 3, 1, 1], &mut [&mut x]);
        assert!([&cube, &float, &whole, &many].iter().all(|t| supports(view(t)).is_err()));
    }
}
