//! Windows that slide over images: IM2COL and IM2COL_3D, CONV_2D, CONV_2D_DW, CONV_TRANSPOSE_1D and _2D.
//!
//! `htp_window_params` has stride, padding and dilation of three dimensions, width first; dimensions that an op does not
//! have are 1, 0 and 1.

use super::claim::{rule, source, Claim, Rule, Source, Types, RESULT_ROWS};
use super::{Family, Params};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::{BF16, F16, F32};
use crate::ggml::tensor::Tensor;

/// See the module.
pub const FAMILY: Family = Family { name: "image", select, claims: CLAIMS, sources: 2, tiled_source: None, params };

fn select(node: Tensor) -> Option<wire::htp_op> {
    match node.op() {
        ggml::GGML_OP_IM2COL => Some(wire::HTP_OP_IM2COL),
        ggml::GGML_OP_IM2COL_3D => Some(wire::HTP_OP_IM2COL_3D),
        ggml::GGML_OP_CONV_2D => Some(wire::HTP_OP_CONV_2D),
        ggml::GGML_OP_CONV_2D_DW => Some(wire::HTP_OP_CONV_2D_DW),
        ggml::GGML_OP_CONV_TRANSPOSE_1D => Some(wire::HTP_OP_CONV_TRANSPOSE_1D),
        ggml::GGML_OP_CONV_TRANSPOSE_2D => Some(wire::HTP_OP_CONV_TRANSPOSE_2D),
        _ => None,
    }
}

const SOURCES: &[Source] = &[source("kernel"), source("image")];
/// Of a kernel of which only the shape matters.
const KERNEL: Types = &[F32, F16, BF16];

const WINDOW: Rule = rule!("strides and dilations are at least 1, padding is not negative", |node| {
    let window = Window::of(node);
    Some(window.padding.iter().all(|&n| n >= 0) && window.stride.iter().chain(&window.dilation).all(|&n| n >= 1))
});

/// See [`Claim`].
const CLAIMS: &[Claim] = &[
    Claim {
        ops: &[wire::HTP_OP_IM2COL],
        sources: SOURCES,
        types: &[&[KERNEL, &[F32], &[F32, F16]], &[KERNEL, &[F16], &[F16]]],
        rules: &[
            RESULT_ROWS,
            WINDOW,
            POSITIONS,
            rule!(
                "1-D: the kernel is [width, channels], the image [w, channels, images], the result \
                 [width * channels, n, images]; 2-D: [width, height, channels], [w, h, channels, images], \
                 [width * height * channels, n, m, images]",
                columns_fit
            ),
        ],
    },
    Claim {
        ops: &[wire::HTP_OP_IM2COL_3D],
        sources: SOURCES,
        types: &[&[KERNEL, &[F32], &[F32, F16]]],
        rules: &[
            RESULT_ROWS,
            WINDOW,
            POSITIONS,
            rule!(
                "the kernel is [width, height, depth, any], the image [w, h, d, channels * images] or more, the result \
                 [width * height * depth * channels, n, m, l * images]",
                volumes_fit
            ),
        ],
    },
    Claim {
        ops: &[wire::HTP_OP_CONV_2D],
        sources: SOURCES,
        types: PRODUCTS,
        rules: &[
            RESULT_ROWS,
            WINDOW,
            POSITIONS,
            ROOM,
            rule!(
                "the kernel is [width, height, channels, outputs], the image [w, h, channels, images], \
                 the result [n, m, outputs, images]",
                |node| {
                    let (kernel, image, result) = (node.src(0)?.ne(), node.src(1)?.ne(), node.ne());
                    let fits = kernel[2] == image[2] && kernel[3] == result[2] && image[3] == result[3];
                    Some(fits && kernel[..3].iter().all(|&n| n > 0))
                }
            ),
        ],
    },
    Claim {
        ops: &[wire::HTP_OP_CONV_2D_DW],
        sources: SOURCES,
        types: PRODUCTS,
        rules: &[
            WINDOW,
            POSITIONS,
            ROOM,
            rule!(
                "the kernel is [width, height, 1, channels] with at most 2^18 elements, the image \
                 [w, h, channels, images], the result [n, m, channels, images]",
                |node| {
                    let (kernel, image, result) = (node.src(0)?.ne(), node.src(1)?.ne(), node.ne());
                    let fits = kernel[2] == 1 && kernel[3] == image[2] && image[2..] == result[2..];
                    Some(fits && kernel[0] > 0 && kernel[1] > 0 && product(&kernel)? <= 1 << 18)
                }
            ),
            rule!(
                "elements of a row of the result lie side by side, or channels of the image and of the result do",
                |node| {
                    let by_channel = node.src(1)?.nb()[2] == 4 && node.nb()[2] == 4;
                    Some(node.has_contiguous_rows() || by_channel)
                }
            ),
        ],
    },
    Claim {
        ops: &[wire::HTP_OP_CONV_TRANSPOSE_1D, wire::HTP_OP_CONV_TRANSPOSE_2D],
        sources: SOURCES,
        types: PRODUCTS,
        rules: &[
            RESULT_ROWS,
            rule!("elements of a row of the image lie side by side", |node| Some(node.src(1)?.has_contiguous_rows())),
            WINDOW,
            REACH,
            ROOM,
            rule!(
                "1-D: the kernel is [width, outputs, channels], the image [w, channels], the result [n, outputs]; \
                 2-D: [width, height, outputs, channels], [w, h, channels, images], [n, m, outputs, images]",
                transposed_fit
            ),
        ],
    },
];

/// A kernel, an image, the result.
const PRODUCTS: &[&[Types]] = &[&[&[F32, F16], &[F32], &[F32]]];

const ROOM: Rule =
    rule!("a kernel's plane has at most 2^14 elements, and the lines that 64 windows see 2^17", |node| {
        let (window, kernel) = (Window::of(node), node.src(0)?.ne());
        let height = if window.dims == 1 { 1 } else { kernel[1] };
        let (stride, dilation) = (i64::from(window.stride[0]), i64::from(window.dilation[0]));
        let span = (kernel[0].max(1) - 1).checked_mul(dilation)?.checked_add(1)?;
        let line = stride.min(span).checked_mul(span / stride + 97)?;
        Some(kernel[0].checked_mul(height)? <= 1 << 14 && line.checked_mul(height)? <= 1 << 17)
    });

const REACH: Rule = rule!("the result has at most 2^30 columns and lines", |node| {
    let (window, kernel, image) = (Window::of(node), node.src(0)?.ne(), node.src(1)?.ne());
    let fits = |d: usize| {
        let last = (image[d] - 1).checked_mul(window.stride[d].into()).and_then(|n| n.checked_add(kernel[d]));
        node.ne()[d] <= 1 << 30 && last.is_some_and(|n| n <= 1 << 30)
    };
    Some((0..window.dims).all(fits))
});

const POSITIONS: Rule = rule!("windows reach no further than 2^30 elements", |node| {
    let (window, kernel, image) = (Window::of(node), node.src(0)?.ne(), node.src(1)?.ne());
    // IM2COL has the window's elements in front of its dimensions.
    let skipped = usize::from(matches!(node.op(), ggml::GGML_OP_IM2COL | ggml::GGML_OP_IM2COL_3D));
    let reach = |d: usize| {
        let n = |windows: i64| windows.max(1) - 1;
        let span = n(node.ne()[d + skipped]).checked_mul(window.stride[d].into())?;
        let inside = n(kernel[d]).checked_mul(window.dilation[d].into())?;
        span.checked_add(inside)?.checked_add(window.padding[d].into())
    };
    let within = |n: i64| n <= 1 << 30;
    Some((0..window.dims).all(|d| within(image[d]) && reach(d).is_some_and(within)))
});

/// An op's arguments, taken apart.
struct Window {
    dims: usize,
    stride: [i32; 3],
    padding: [i32; 3],
    dilation: [i32; 3],
    channels: i32,
}

impl Window {
    fn of(node: Tensor) -> Window {
        let p = node.params();
        let mut window = Window { dims: 2, stride: [1; 3], padding: [0; 3], dilation: [1; 3], channels: 0 };
        // ggml has strides first, then paddings, then dilations; IM2COL of one dimension has room for two as well.
        let mut stored = 2;
        match node.op() {
            ggml::GGML_OP_IM2COL => window.dims = if p[6] == 1 { 2 } else { 1 },
            ggml::GGML_OP_IM2COL_3D => {
                (window.dims, stored) = (3, 3);
                window.channels = p[9];
            }
            // One stride for all dimensions; the padding and dilation that ggml has room for are 0 and 1.
            ggml::GGML_OP_CONV_TRANSPOSE_1D => return Window { dims: 1, stride: [p[0], 1, 1], ..window },
            ggml::GGML_OP_CONV_TRANSPOSE_2D => return Window { stride: [p[0], p[0], 1], ..window },
            _ => (),
        }
        for d in 0..window.dims {
            window.stride[d] = p[d];
            window.padding[d] = p[stored + d];
            window.dilation[d] = p[2 * stored + d];
        }
        window
    }
}

fn product(numbers: &[i64]) -> Option<i64> {
    numbers.iter().try_fold(1i64, |product, &n| product.checked_mul(n))
}

fn columns_fit(node: Tensor) -> Option<bool> {
    let (kernel, image, result) = (node.src(0)?.ne(), node.src(1)?.ne(), node.ne());
    let dims = Window::of(node).dims;
    let fits = kernel[dims] == image[dims]
        && result[0] == product(&kernel[..=dims])?
        && result[dims + 1] == image[dims + 1]
        && (dims == 2 || (image[3] == 1 && result[3] == 1));
    Some(fits)
}

fn volumes_fit(node: Tensor) -> Option<bool> {
    let (kernel, image, result) = (node.src(0)?.ne(), node.src(1)?.ne(), node.ne());
    let channels = i64::from(Window::of(node).channels);
    if channels < 1 {
        return Some(false);
    }
    let images = image[3] / channels;
    Some(result[0] == product(&[kernel[0], kernel[1], kernel[2], channels])? && result[3] % images.max(1) == 0)
}

fn transposed_fit(node: Tensor) -> Option<bool> {
    let (kernel, image, result) = (node.src(0)?.ne(), node.src(1)?.ne(), node.ne());
    let c = Window::of(node).dims; // the dimension of channels
    let fits = kernel[c] == result[c] && kernel[c + 1] == image[c] && image[c + 1] == result[c + 1];
    let one = c == 2 || (kernel[3] == 1 && image[2..] == [1, 1] && result[2..] == [1, 1]);
    let p = node.params();
    let plain = c == 2 || (p[1] == 0 && p[2] == 1);
    Some(fits && one && plain && !node.src(0)?.is_empty() && !node.src(1)?.is_empty())
}

fn params(node: Tensor) -> Params {
    let mut params = Params::default();
    let window = Window::of(node);
    params[..3].copy_from_slice(&window.stride);
    params[3..6].copy_from_slice(&window.padding);
    params[6..9].copy_from_slice(&window.dilation);
    params[9] = window.dims as i32;
    params[10] = window.channels;
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
    fn columns_of_one_and_two_dimensions() {
        let (mut kernel, mut image) = (tensor(F16, [3, 2, 8, 1]), tensor(F32, [20, 2, 4, 1]));
        let mut line = node(GGML_OP_IM2COL, F16, [6, 18, 4, 1], &mut [&mut kernel, &mut image]);
        line.op_params[..7].copy_from_slice(&[1, 0, 0, 0, 1, 0, 0]);
        assert_eq!(supports(view(&line)), Ok(()));
        assert_eq!(params(view(&line))[..11], [1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0]);
        line.op_params[6] = 1;
        assert!(supports(view(&line)).is_err(), "as two dimensions it has a stride of 0");

        let (mut kernel, mut image) = (tensor(F32, [3, 3, 5, 7]), tensor(F32, [20, 10, 5, 2]));
        let mut plane = node(GGML_OP_IM2COL, F32, [45, 9, 8, 2], &mut [&mut kernel, &mut image]);
        plane.op_params[..7].copy_from_slice(&[2, 1, 0, 0, 1, 1, 1]);
        assert_eq!(supports(view(&plane)), Ok(()));
        assert_eq!(params(view(&plane))[..11], [2, 1, 1, 0, 0, 0, 1, 1, 1, 2, 0]);
        plane.op_params[2] = i32::MAX;
        assert_eq!(supports(view(&plane)), Err("not so: windows reach no further than 2^30 elements"));
        plane.op_params[2] = -1;
        assert!(supports(view(&plane)).is_err(), "negative padding");
    }

    #[test]
    fn products() {
        let (mut kernel, mut image) = (tensor(F16, [3, 3, 5, 7]), tensor(F32, [20, 10, 5, 2]));
        let mut conv = node(GGML_OP_CONV_2D, F32, [18, 8, 7, 2], &mut [&mut kernel, &mut image]);
        conv.op_params[..6].copy_from_slice(&[1, 1, 0, 0, 1, 1]);
        assert_eq!(supports(view(&conv)), Ok(()));
        conv.op_params[..6].copy_from_slice(&[1, 1, 0, 0, 1 << 20, 1]);
        assert!(supports(view(&conv)).is_err(), "lines that no VTCM holds");

        let (mut kernel, mut image) = (tensor(F32, [3, 3, 1, 5]), tensor(F32, [20, 10, 5, 2]));
        let mut each = node(GGML_OP_CONV_2D_DW, F32, [18, 8, 5, 2], &mut [&mut kernel, &mut image]);
        each.op_params[..6].copy_from_slice(&[1, 1, 0, 0, 1, 1]);
        assert_eq!(supports(view(&each)), Ok(()));
        each.nb[0] = 20;
        assert!(supports(view(&each)).is_err(), "an image of lines gives lines");
    }

    #[test]
    fn transposed() {
        let (mut kernel, mut image) = (tensor(F32, [3, 4, 2, 1]), tensor(F32, [5, 2, 1, 1]));
        let mut line = node(GGML_OP_CONV_TRANSPOSE_1D, F32, [11, 4, 1, 1], &mut [&mut kernel, &mut image]);
        line.op_params[..3].copy_from_slice(&[2, 0, 1]);
        assert_eq!(supports(view(&line)), Ok(()));
        assert_eq!(params(view(&line))[..10], [2, 1, 1, 0, 0, 0, 1, 1, 1, 1]);
        line.op_params[2] = 2;
        assert!(supports(view(&line)).is_err(), "a dilation");
    }

    #[test]
    fn volumes() {
        let (mut kernel, mut image) = (tensor(F32, [3, 3, 3, 9]), tensor(F32, [10, 10, 10, 6]));
        let mut volume = node(GGML_OP_IM2COL_3D, F32, [81, 8, 8, 16], &mut [&mut kernel, &mut image]);
        volume.op_params[..10].copy_from_slice(&[1, 1, 1, 0, 0, 0, 1, 1, 1, 3]);
        assert_eq!(supports(view(&volume)), Ok(()));
        volume.op_params[9] = 2;
        assert!(supports(view(&volume)).is_err(), "rows of another length");
    }
}
