//! Order in rows of f32: ARGSORT gives the indices of a row in ascending or descending order (equal elements keep their
//! order), TOP_K those of the k largest elements in no particular order.

use super::claim::{rule, source, Claim, RESULT_ROWS, SAME_SHAPE};
use super::{Family, Params};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::{F32, I32};
use crate::ggml::tensor::Tensor;

/// See the module.
pub const FAMILY: Family = Family { name: "sort", select, claims: CLAIMS, sources: 1, tiled_source: None, params };

fn select(node: Tensor) -> Option<wire::htp_op> {
    match node.op() {
        ggml::GGML_OP_ARGSORT => Some(wire::HTP_OP_ARGSORT),
        ggml::GGML_OP_TOP_K => Some(wire::HTP_OP_TOP_K),
        _ => None,
    }
}

fn order(node: Tensor) -> Option<i32> {
    match ggml::ggml_sort_order::try_from(node.params()[0]) {
        Ok(ggml::GGML_SORT_ORDER_ASC) => Some(0),
        Ok(ggml::GGML_SORT_ORDER_DESC) => Some(1),
        _ => None,
    }
}

/// See [`Claim`].
const CLAIMS: &[Claim] = &[
    Claim {
        ops: &[wire::HTP_OP_ARGSORT],
        sources: &[source("rows")],
        types: &[&[&[F32], &[I32]]],
        rules: &[
            SAME_SHAPE,
            RESULT_ROWS,
            rule!("the order is ascending or descending", |node| Some(order(node).is_some())),
        ],
    },
    Claim {
        ops: &[wire::HTP_OP_TOP_K],
        sources: &[source("rows")],
        types: &[&[&[F32], &[I32]]],
        rules: &[
            RESULT_ROWS,
            rule!("the result has the shape of the source but in dimension 0", |node| {
                Some(node.ne()[1..] == node.src(0)?.ne()[1..])
            }),
            rule!("k is not more than the elements of a row", |node| Some(node.ne()[0] <= node.src(0)?.ne()[0])),
        ],
    },
];

fn params(node: Tensor) -> Params {
    let mut params = Params::default();
    if node.op() == ggml::GGML_OP_ARGSORT {
        params[0] = order(node).unwrap_or(0);
    }
    params
}

#[cfg(test)]
mod tests {
    use super::params;
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::*;
    use crate::ops::supports;

    #[test]
    fn order_goes_onto_the_wire() {
        let mut x = tensor(F32, [9, 3, 1, 1]);
        let mut sort = node(GGML_OP_ARGSORT, I32, [9, 3, 1, 1], &mut [&mut x]);
        sort.op_params[0] = GGML_SORT_ORDER_DESC as i32;
        assert!(supports(view(&sort)).is_ok());
        assert_eq!(params(view(&sort))[0], 1);
        sort.op_params[0] = 7;
        assert!(supports(view(&sort)).is_err());
    }

    #[test]
    fn shapes() {
        for (op, count, expected) in [
            (GGML_OP_TOP_K, 4, true),
            (GGML_OP_TOP_K, 9, true),
            (GGML_OP_TOP_K, 10, false),
            (GGML_OP_ARGSORT, 4, false),
        ] {
            let mut x = tensor(F32, [9, 3, 1, 1]);
            assert_eq!(supports(view(&node(op, I32, [count, 3, 1, 1], &mut [&mut x]))).is_ok(), expected, "{count}");
        }
        let mut x = tensor(F16, [9, 3, 1, 1]);
        assert!(supports(view(&node(GGML_OP_TOP_K, I32, [2, 3, 1, 1], &mut [&mut x]))).is_err());
    }
}
