//! Rows by index: GET_ROWS reads rows `src1[..]` of `src0`, SET_ROWS writes the rows of `src0` to rows `src1[..]`.
//!
//! Rows are converted on the way: GET_ROWS gives f32 (i32 of i32), SET_ROWS rounds and quantises as ggml's reference
//! code does. An index that is out of range is found by the DSP and fails the graph.

use super::{Declined, Family};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::{ElementType, Tensor};

/// See the module. SET_ROWS has its result as a third source, of which it is a view.
pub const FAMILY: Family =
    Family { name: "gather", select, supports, sources: 2, tiled_source: Some(0), params: |_| [0; 16] };

fn select(node: Tensor) -> Option<wire::htp_op> {
    match node.op() {
        ggml::GGML_OP_GET_ROWS => Some(wire::HTP_OP_GET_ROWS),
        ggml::GGML_OP_SET_ROWS => Some(wire::HTP_OP_SET_ROWS),
        _ => None,
    }
}

fn supports(node: Tensor) -> Result<(), Declined> {
    use ElementType::*;
    let (Some(src), Some(index)) = (node.src(0), node.src(1)) else {
        return Err("a source is missing");
    };
    if !matches!(index.element_type(), Some(I32 | I64)) {
        return Err("indices are not i32 or i64");
    }
    let set = node.op() == ggml::GGML_OP_SET_ROWS;
    let types = (src.element_type(), node.element_type());
    let converts = if set {
        matches!(types, (Some(F32 | F16), Some(F32 | F16 | Q8_0 | Q4_0)))
    } else {
        matches!(types, (Some(F32 | F16 | Q8_0 | Q4_0), Some(F32)) | (Some(I32), Some(I32)))
    };
    if !converts {
        return Err("no conversion between these types");
    }
    if !src.has_contiguous_rows() || !node.has_contiguous_rows() {
        return Err("elements of a row lie apart");
    }
    // The tensor that has a row for each index, and the one that indices point into.
    let (list, table) = if set { (src, node) } else { (node, src) };
    let (list, table, index) = (list.ne(), table.ne(), index.ne());
    let same = list[0] == table[0] && list[1] == index[0] && list[2] == table[2] && list[3] == table[3];
    let fits = |rows: i64, indices: i64| if set { indices != 0 && rows % indices == 0 } else { rows == indices };
    if !same || !fits(list[2], index[1]) || !fits(list[3], index[2]) || index[3] != 1 {
        return Err("shapes do not fit together");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::supports;
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::{self, *};

    fn get(from: ElementType, to: ElementType, index: [i64; 4]) -> bool {
        let (mut table, mut index) = (tensor(from, [64, 9, 2, 3]), tensor(I32, index));
        let get = node(GGML_OP_GET_ROWS, to, [64, 5, 2, 3], &mut [&mut table, &mut index]);
        supports(view(&get)).is_ok()
    }

    fn set(from: ElementType, to: ElementType, kind: ElementType, index: [i64; 4]) -> bool {
        let (mut list, mut index) = (tensor(from, [64, 5, 4, 3]), tensor(kind, index));
        let mut table = tensor(to, [64, 9, 4, 3]);
        let set = node(GGML_OP_SET_ROWS, to, [64, 9, 4, 3], &mut [&mut list, &mut index, &mut table]);
        supports(view(&set)).is_ok()
    }

    #[test]
    fn types() {
        for (from, to, expected) in [
            (F32, F32, true),
            (F16, F32, true),
            (Q4_0, F32, true),
            (I32, I32, true),
            (I32, F32, false),
            (F16, F16, false),
            (I64, F32, false),
        ] {
            assert_eq!(get(from, to, [5, 2, 3, 1]), expected, "get {from:?} as {to:?}");
        }
        for (from, to, kind, expected) in [
            (F32, Q8_0, I64, true),
            (F16, F16, I32, true),
            (F32, I32, I64, false),
            (Q8_0, F32, I64, false),
            (F32, F32, F32, false),
        ] {
            assert_eq!(set(from, to, kind, [5, 4, 3, 1]), expected, "set {from:?} as {to:?} by {kind:?}");
        }
    }

    #[test]
    fn shapes() {
        assert!(!get(F32, F32, [4, 2, 3, 1]) && !get(F32, F32, [5, 1, 3, 1]));
        assert!(set(F32, F32, I64, [5, 2, 1, 1]), "indices repeat");
        assert!(!set(F32, F32, I64, [5, 3, 1, 1]) && !set(F32, F32, I64, [5, 0, 1, 1]));
    }
}
