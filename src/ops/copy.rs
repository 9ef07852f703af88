//! Moving elements: CPY, CONT and DUP to another shape, type or stride; REPEAT, CONCAT, PAD.

use super::{Declined, Family, Params};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::{ElementType, Tensor};

/// See the module. CPY has its result as a second source, of which it is a view.
pub const FAMILY: Family = Family { name: "copy", select, supports, sources: 2, tiled_source: None, params };

/// ggml keeps the sizes of PAD in the first eight words of its arguments, whether it is circular in the ninth.
const PAD_PARAMS: usize = 9;

fn select(node: Tensor) -> Option<wire::htp_op> {
    match node.op() {
        ggml::GGML_OP_CPY => Some(wire::HTP_OP_CPY),
        ggml::GGML_OP_CONT | ggml::GGML_OP_DUP => Some(wire::HTP_OP_CONT),
        ggml::GGML_OP_REPEAT => Some(wire::HTP_OP_REPEAT),
        ggml::GGML_OP_CONCAT => Some(wire::HTP_OP_CONCAT),
        ggml::GGML_OP_PAD => Some(wire::HTP_OP_PAD),
        _ => None,
    }
}

fn supports(node: Tensor) -> Result<(), Declined> {
    let Some(src) = node.src(0) else {
        return Err("a source is missing");
    };
    match node.op() {
        ggml::GGML_OP_REPEAT => repeat(node, src),
        ggml::GGML_OP_CONCAT => concat(node, src),
        ggml::GGML_OP_PAD => pad(node, src),
        _ => copy(node, src),
    }
}

fn is_single(t: Tensor) -> bool {
    t.element_type().is_some_and(|kind| !kind.is_quantized())
}

/// The DSP counts elements in 32 bits.
fn elements(t: Tensor) -> Option<u32> {
    t.ne().iter().try_fold(1i64, |product, &n| product.checked_mul(n)).and_then(|n| u32::try_from(n).ok())
}

fn copy(node: Tensor, src: Tensor) -> Result<(), Declined> {
    use ElementType::*;
    let (Some(from), Some(to)) = (src.element_type(), node.element_type()) else {
        return Err("a type that the DSP does not know");
    };
    let converts = match (from, to) {
        (F32, F16 | I32 | Q8_0 | Q4_0) | (F16, F32 | Q8_0 | Q4_0) | (I32 | Q8_0 | Q4_0, F32) => true,
        _ => from == to,
    };
    if !converts {
        return Err("no conversion between these types");
    }
    match (elements(src), elements(node)) {
        (Some(a), Some(b)) if a == b => {}
        _ => return Err("not as many elements in the result as in the source"),
    }
    // Blocks are moved whole, or made of 32 elements side by side.
    let whole = |t: Tensor| t.has_contiguous_rows() && t.ne()[0] % 32 == 0;
    if from != to && (from.is_quantized() || to.is_quantized()) && !(whole(src) && whole(node)) {
        return Err("rows are not whole blocks");
    }
    Ok(())
}

/// Both of one type, elements of result rows side by side.
fn same_type(node: Tensor, src: Tensor) -> Result<(), Declined> {
    if node.element_type().is_none() || src.element_type() != node.element_type() {
        return Err("not of one type");
    }
    if !node.has_contiguous_rows() || elements(node).is_none() || elements(src).is_none() {
        return Err("elements of a row lie apart, or there are too many");
    }
    Ok(())
}

fn repeat(node: Tensor, src: Tensor) -> Result<(), Declined> {
    same_type(node, src)?;
    if !is_single(node) || !src.can_repeat_to(node) {
        return Err("shapes do not fit together");
    }
    Ok(())
}

fn concat(node: Tensor, a: Tensor) -> Result<(), Declined> {
    let Some(b) = node.src(1) else {
        return Err("a source is missing");
    };
    same_type(node, a)?;
    same_type(node, b)?;
    let dim = usize::try_from(node.params()[0]).ok().filter(|&dim| dim < 4).ok_or("no such dimension")?;
    let fits = |d: usize| {
        let (x, y, all) = (a.ne()[d], b.ne()[d], node.ne()[d]);
        if d == dim {
            x.checked_add(y) == Some(all)
        } else {
            x == all && y == all
        }
    };
    if !(0..4).all(fits) {
        return Err("shapes do not fit together");
    }
    Ok(())
}

fn pad(node: Tensor, src: Tensor) -> Result<(), Declined> {
    same_type(node, src)?;
    if !is_single(node) {
        return Err("no padding of quantised rows");
    }
    let params = node.params();
    if params[..8].iter().any(|&n| n < 0) {
        return Err("negative padding");
    }
    if params[8] != 0 && src.is_empty() {
        return Err("nothing to go round in");
    }
    let fits = |d: usize| i64::from(params[2 * d]) + i64::from(params[2 * d + 1]) + src.ne()[d] == node.ne()[d];
    if !(0..4).all(fits) {
        return Err("shapes do not fit together");
    }
    Ok(())
}

fn params(node: Tensor) -> Params {
    let mut params = Params::default();
    let used = match node.op() {
        ggml::GGML_OP_CONCAT => 1,
        ggml::GGML_OP_PAD => PAD_PARAMS,
        _ => 0,
    };
    params[..used].copy_from_slice(&node.params()[..used]);
    params
}

#[cfg(test)]
mod tests {
    use super::{params, supports};
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::{self, *};

    fn copies(from: ElementType, from_ne: [i64; 4], to: ElementType, to_ne: [i64; 4]) -> bool {
        let mut src = tensor(from, from_ne);
        supports(view(&node(GGML_OP_CPY, to, to_ne, &mut [&mut src]))).is_ok()
    }

    #[test]
    fn copies_between_types_and_shapes() {
        assert!(copies(F32, [5, 3, 2, 1], F16, [3, 5, 1, 2]));
        assert!(copies(I64, [5, 3, 2, 1], I64, [30, 1, 1, 1]));
        assert!(copies(F32, [64, 3, 1, 1], Q8_0, [32, 6, 1, 1]));
        assert!(copies(Q4_0, [64, 3, 1, 1], Q4_0, [192, 1, 1, 1]));
        assert!(!copies(F32, [5, 3, 2, 1], F32, [5, 3, 1, 1]), "other number of elements");
        assert!(!copies(F16, [5, 3, 2, 1], I32, [5, 3, 2, 1]), "no such conversion");
        assert!(!copies(F32, [16, 2, 1, 1], Q8_0, [32, 1, 1, 1]), "rows of half a block");
        assert!(!copies(F32, [1 << 20, 1 << 12, 1, 1], F32, [1 << 20, 1 << 12, 1, 1]), "beyond 32 bits");
    }

    #[test]
    fn quantised_rows_come_from_elements_side_by_side() {
        let mut src = tensor(F32, [64, 32, 1, 1]);
        src.nb.swap(0, 1);
        assert!(supports(view(&node(GGML_OP_CPY, Q8_0, [64, 32, 1, 1], &mut [&mut src]))).is_err());
        assert!(supports(view(&node(GGML_OP_CONT, F32, [64, 32, 1, 1], &mut [&mut src]))).is_ok());
    }

    #[test]
    fn concat_adds_up_in_one_dimension() {
        let (mut a, mut b) = (tensor(F16, [8, 3, 2, 1]), tensor(F16, [8, 4, 2, 1]));
        let mut both = node(GGML_OP_CONCAT, F16, [8, 7, 2, 1], &mut [&mut a, &mut b]);
        both.op_params[0] = 1;
        assert!(supports(view(&both)).is_ok());
        assert_eq!(params(view(&both))[..2], [1, 0]);
        both.op_params[0] = 0;
        assert!(supports(view(&both)).is_err());
        both.op_params[0] = 4;
        assert!(supports(view(&both)).is_err());
    }

    #[test]
    fn padding_is_not_negative() {
        let mut src = tensor(F32, [8, 3, 2, 1]);
        let mut pad = node(GGML_OP_PAD, F32, [11, 3, 2, 1], &mut [&mut src]);
        pad.op_params[..2].copy_from_slice(&[1, 2]);
        pad.op_params[8] = 1;
        assert!(supports(view(&pad)).is_ok());
        assert_eq!(params(view(&pad))[..9], [1, 2, 0, 0, 0, 0, 0, 0, 1]);
        pad.op_params[..2].copy_from_slice(&[-1, 4]);
        assert!(supports(view(&pad)).is_err());
    }

    #[test]
    fn repeat_wants_whole_repetitions() {
        for (ne, expected) in [([16, 3, 4, 1], true), ([8, 3, 3, 1], false)] {
            let mut src = tensor(F32, [8, 3, 2, 1]);
            assert_eq!(supports(view(&node(GGML_OP_REPEAT, F32, ne, &mut [&mut src]))).is_ok(), expected, "{ne:?}");
        }
    }
}
