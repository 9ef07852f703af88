//! How much memory a tensor takes: ggml's own bytes, and for tiles no more than their padding on top.

use proptest::prelude::*;

use super::*;
use crate::ggml::tensor::test::tensor;
use crate::ggml::tensor::ElementType::{self, *};

fn alloc_size(kind: Kind, t: &ggml_tensor) -> usize {
    static TYPES: std::sync::OnceLock<[&BufferType; 2]> = std::sync::OnceLock::new();
    // Sizes do not depend on the device.
    let new = |kind| BufferType::new(c"test".into(), kind, ptr::null(), ptr::null_mut());
    let types = TYPES.get_or_init(|| [Kind::Rows, Kind::Tiles].map(new));
    let buffer_type = types.iter().find(|t| t.kind == kind).expect("one of each");
    // SAFETY: a live buffer type of ours and a live tensor.
    unsafe { get_alloc_size(buffer_type.as_ptr(), t) }
}

/// What `include/htp/tiles.h` says of types with tiles: bytes of scales of a block, blocks that share scale vectors.
fn scales(kind: ElementType) -> Option<(usize, usize)> {
    match kind {
        Q4_0 | Q8_0 | IQ4_NL | Q5_0 => Some((2, 2)),
        Q4_1 | Q5_1 => Some((4, 2)),
        MXFP4 => Some((1, 4)),
        Q4_K | Q5_K => Some((16, 1)),
        IQ4_XS => Some((8, 1)),
        Q2_K => Some((20, 1)),
        Q6_K => Some((18, 2)),
        Q3_K => Some((14, 2)),
        _ => None,
    }
}

/// A type, and a shape with rows of whole blocks of it.
fn tensors() -> impl Strategy<Value = (ElementType, [usize; 4])> {
    let n = prop_oneof![1usize..200, Just(32), Just(4096), Just(32_003)];
    let k = prop_oneof![1usize..40, Just(4096 / 32), Just(14_336 / 32)];
    let kind = prop::sample::select(ElementType::ALL);
    (kind, k, n, 1usize..5, 1usize..3).prop_map(|(kind, blocks, n, ne2, ne3)| {
        let k = (32 * blocks).next_multiple_of(kind.block_elements());
        (kind, [k, n, ne2, ne3])
    })
}

proptest! {
    #[test]
    fn tiles_take_their_padding_and_no_more((kind, ne) in tensors()) {
        let t = tensor(kind, ne.map(|n| n as i64));
        let [k, n, ne2, ne3] = ne;
        let blocks = k / kind.block_elements();
        let own = blocks * kind.block_bytes() * n * ne2 * ne3;
        prop_assert_eq!(alloc_size(Kind::Rows, &t), own);
        let tiled = alloc_size(Kind::Tiles, &t);
        let Some((scale_bytes, shared)) = scales(kind) else {
            prop_assert_eq!(tiled, own);
            return Ok(());
        };
        // Rows up to whole tiles, and room for the scales of blocks that fill up the last vector.
        let rows = n.next_multiple_of(32) * ne2 * ne3;
        let unused = blocks.next_multiple_of(shared) - blocks;
        prop_assert_eq!(tiled, rows * (blocks * kind.block_bytes() + unused * scale_bytes));
        prop_assert!(tiled >= own);
        if n % 32 == 0 && unused == 0 {
            prop_assert_eq!(tiled, own);
        }
    }

    #[test]
    fn what_is_no_whole_weight_keeps_its_bytes((kind, ne) in tensors(), gap in 1usize..4) {
        let mut root = tensor(kind, ne.map(|n| n as i64));
        let own = alloc_size(Kind::Rows, &root);
        let view = ggml_tensor { view_src: &mut root, ..root };
        prop_assert_eq!(alloc_size(Kind::Tiles, &view), own);
        let empty = ggml_tensor { ne: [root.ne[0], 0, 1, 1], ..root };
        prop_assert_eq!(alloc_size(Kind::Tiles, &empty), 0);
        let gap = gap * kind.block_bytes();
        let mut apart = tensor(kind, ne.map(|n| n as i64));
        apart.nb[1] += gap;
        apart.nb[2] = apart.nb[1] * ne[1];
        apart.nb[3] = apart.nb[2] * ne[2];
        let rows = ne[1] * ne[2] * ne[3];
        if rows > 1 {
            prop_assert_eq!(alloc_size(Kind::Tiles, &apart), own + (rows - 1) * gap);
        }
    }
}
