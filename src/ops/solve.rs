//! SOLVE_TRI: the X of A X = B with a lower triangular A.

use super::claim::{rule, source, Claim, RESULT_ROWS, SOURCE_ROWS};
use super::Family;
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::F32;
use crate::ggml::tensor::Tensor;

/// See the module.
pub const FAMILY: Family =
    Family { name: "solve", select, claims: CLAIMS, sources: 2, tiled_source: None, params: |_| [0; 16] };

fn select(node: Tensor) -> Option<wire::htp_op> {
    (node.op() == ggml::GGML_OP_SOLVE_TRI).then_some(wire::HTP_OP_SOLVE_TRI)
}

/// See [`Claim`].
const CLAIMS: &[Claim] = &[Claim {
    ops: &[wire::HTP_OP_SOLVE_TRI],
    sources: &[source("A"), source("B")],
    types: &[&[&[F32], &[F32], &[F32]]],
    rules: &[
        RESULT_ROWS,
        SOURCE_ROWS,
        rule!("elements of a row of B lie side by side", |node| Some(node.src(1)?.has_contiguous_rows())),
        rule!("A is [n, n, i, j] with n up to 4096, B is [columns, n, i, j], the result as well", |node| {
            let (a, b) = (node.src(0)?.ne(), node.src(1)?.ne());
            Some(a[0] == a[1] && a[0] <= MAX_ROWS && b[1..] == a[1..] && node.ne() == b)
        }),
    ],
}];

/// So that a block of columns fits the VTCM of any device.
const MAX_ROWS: i64 = 4096;

#[cfg(test)]
mod tests {
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::*;
    use crate::ops::supports;

    #[test]
    fn shapes() {
        for (a, b, expected) in [
            ([8, 8, 2, 3], [5, 8, 2, 3], true),
            ([8, 7, 2, 3], [5, 7, 2, 3], false),
            ([8, 8, 2, 3], [5, 8, 2, 1], false),
            ([5000, 5000, 1, 1], [5, 5000, 1, 1], false),
        ] {
            let (mut x, mut y) = (tensor(F32, a), tensor(F32, b));
            let solve = node(GGML_OP_SOLVE_TRI, F32, b, &mut [&mut x, &mut y]);
            assert_eq!(supports(view(&solve)).is_ok(), expected, "{a:?} {b:?}");
        }
    }
}
