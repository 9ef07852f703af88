//! Rows that become a number or running sums: SUM_ROWS, ARGMAX and CUMSUM.

use super::{Declined, Family};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::{F32, I32};
use crate::ggml::tensor::Tensor;

/// See the module.
pub const FAMILY: Family =
    Family { name: "reduce", select, supports, sources: 1, tiled_source: None, params: |_| [0; 16] };

fn select(node: Tensor) -> Option<wire::htp_op> {
    match node.op() {
        ggml::GGML_OP_SUM_ROWS => Some(wire::HTP_OP_SUM_ROWS),
        ggml::GGML_OP_ARGMAX => Some(wire::HTP_OP_ARGMAX),
        ggml::GGML_OP_CUMSUM => Some(wire::HTP_OP_CUMSUM),
        _ => None,
    }
}

fn supports(node: Tensor) -> Result<(), Declined> {
    let Some(src) = node.src(0) else {
        return Err("a source is missing");
    };
    let argmax = node.op() == ggml::GGML_OP_ARGMAX;
    if src.element_type() != Some(F32) || node.element_type() != Some(if argmax { I32 } else { F32 }) {
        return Err("not f32");
    }
    let [n0, n1, n2, n3] = src.ne();
    let expected = match node.op() {
        ggml::GGML_OP_SUM_ROWS => [1, n1, n2, n3],
        ggml::GGML_OP_ARGMAX if (n2, n3) == (1, 1) => [n1, 1, 1, 1],
        ggml::GGML_OP_CUMSUM => [n0, n1, n2, n3],
        _ => return Err("not a matrix"),
    };
    if node.ne() != expected {
        return Err("shapes do not fit together");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::supports;
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::*;

    #[test]
    fn shapes_and_types() {
        let mut x = tensor(F32, [8, 3, 2, 1]);
        let mut matrix = tensor(F32, [8, 3, 1, 1]);
        let sums = node(GGML_OP_SUM_ROWS, F32, [1, 3, 2, 1], &mut [&mut x]);
        let running = node(GGML_OP_CUMSUM, F32, [8, 3, 2, 1], &mut [&mut x]);
        let largest = node(GGML_OP_ARGMAX, I32, [3, 1, 1, 1], &mut [&mut matrix]);
        assert!([&sums, &running, &largest].iter().all(|t| supports(view(t)).is_ok()));
        let cube = node(GGML_OP_ARGMAX, I32, [3, 1, 1, 1], &mut [&mut x]);
        let float = node(GGML_OP_ARGMAX, F32, [3, 1, 1, 1], &mut [&mut matrix]);
        let whole = node(GGML_OP_SUM_ROWS, F32, [8, 3, 2, 1], &mut [&mut x]);
        assert!([&cube, &float, &whole].iter().all(|t| supports(view(t)).is_err()));
    }
}
