//! Windows that slide over images: IM2COL and IM2COL_3D.
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
];

const POSITIONS: Rule = rule!("windows reach no further than 2^30 elements", |node| {
    let (window, kernel, image) = (Window::of(node), node.src(0)?.ne(), node.src(1)?.ne());
    let reach = |d: usize| {
        let n = |windows: i64| windows.max(1) - 1;
        let span = n(node.ne()[d + 1]).checked_mul(window.stride[d].into())?;
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
    fn volumes() {
        let (mut kernel, mut image) = (tensor(F32, [3, 3, 3, 9]), tensor(F32, [10, 10, 10, 6]));
        let mut volume = node(GGML_OP_IM2COL_3D, F32, [81, 8, 8, 16], &mut [&mut kernel, &mut image]);
        volume.op_params[..10].copy_from_slice(&[1, 1, 1, 0, 0, 0, 1, 1, 1, 3]);
        assert_eq!(supports(view(&volume)), Ok(()));
        volume.op_params[9] = 2;
        assert!(supports(view(&volume)).is_err(), "rows of another length");
    }
}
