//! Rotary position embedding: pairs of a row's elements are rotated by angles that grow with the row's position.

use std::f32::consts::PI;

use super::{Declined, Family, Params};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::{ElementType, Tensor};

/// See the module. Frequency factors, the last source, may be absent.
pub const FAMILY: Family = Family { name: "rope", select, supports, sources: 3, tiled_source: None, params };

/// The most elements of a row that the kernel has room for in VTCM whatever the DSP.
const MAX_DIMS: i64 = 4096;

fn select(node: Tensor) -> Option<wire::htp_op> {
    (node.op() == ggml::GGML_OP_ROPE).then_some(wire::HTP_OP_ROPE)
}

/// ggml's arguments of the op.
struct Arguments {
    n_dims: i32,
    mode: u32,
    trained_positions: i32,
    freq_base: f32,
    freq_scale: f32,
    ext_factor: f32,
    attn_factor: f32,
    beta_fast: f32,
    beta_slow: f32,
    sections: [i32; 4],
    offset: i32,
}

impl Arguments {
    fn of(node: Tensor) -> Arguments {
        let words = node.params();
        let float = |index: usize| f32::from_bits(words[index] as u32);
        Arguments {
            n_dims: words[1],
            mode: words[2] as u32,
            trained_positions: words[4],
            freq_base: float(5),
            freq_scale: float(6),
            ext_factor: float(7),
            attn_factor: float(8),
            beta_fast: float(9),
            beta_slow: float(10),
            sections: [words[11], words[12], words[13], words[14]],
            offset: words[15],
        }
    }

    fn has_sections(&self) -> bool {
        matches!(self.mode, wire::HTP_ROPE_MROPE | wire::HTP_ROPE_VISION | wire::HTP_ROPE_IMROPE)
    }

    fn is_vision(&self) -> bool {
        self.mode == wire::HTP_ROPE_VISION
    }

    /// The pair from which on YaRN interpolates in part, and the one from which on it interpolates all: the pairs that
    /// turn `beta_fast` and `beta_slow` times within the positions of the training.
    fn ramp(&self) -> (f32, f32) {
        let pair = |turns: f32| {
            self.n_dims as f32 * (self.trained_positions as f32 / (turns * 2.0 * PI)).ln() / (2.0 * self.freq_base.ln())
        };
        (pair(self.beta_fast).floor().max(0.0), pair(self.beta_slow).ceil().min((self.n_dims - 1) as f32))
    }

    fn magnitude(&self) -> f32 {
        if self.ext_factor == 0.0 {
            self.attn_factor
        } else {
            self.attn_factor * (1.0 + 0.1 * (1.0 / self.freq_scale).ln())
        }
    }

    fn theta_scale(&self) -> f32 {
        self.freq_base.powf(-2.0 / self.n_dims as f32)
    }
}

fn supports(node: Tensor) -> Result<(), Declined> {
    let (Some(src), Some(positions)) = (node.src(0), node.src(1)) else {
        return Err("a source is missing");
    };
    let kind = node.element_type();
    if !matches!(kind, Some(ElementType::F32 | ElementType::F16)) || src.element_type() != kind {
        return Err("not f32 or f16");
    }
    if !src.has_contiguous_rows() || !node.has_contiguous_rows() {
        return Err("elements of a row are apart");
    }
    if !src.same_shape(node) {
        return Err("shapes do not fit together");
    }
    let arguments = Arguments::of(node);
    let [row, _, tokens, _] = node.ne();
    let (n_dims, offset) = (i64::from(arguments.n_dims), i64::from(arguments.offset));
    if n_dims < 2 || n_dims % 2 != 0 || n_dims > MAX_DIMS {
        return Err("an odd number of dimensions, or too many");
    }
    match arguments.mode {
        wire::HTP_ROPE_NORMAL | wire::HTP_ROPE_NEOX | wire::HTP_ROPE_MROPE | wire::HTP_ROPE_IMROPE => {
            if offset < 0 || offset % 2 != 0 || row % 2 != 0 || offset + n_dims > row {
                return Err("the rotated dimensions are not within the row");
            }
        }
        wire::HTP_ROPE_VISION if offset == 0 && row == 2 * n_dims => {}
        wire::HTP_ROPE_VISION => return Err("vision mode that does not rotate the whole row"),
        _ => return Err("no kernel for this mode"),
    }
    let sections = arguments.sections;
    let total: i64 = sections.iter().map(|&n| i64::from(n)).sum();
    if arguments.has_sections() && (sections.iter().any(|&n| n < 0) || !(1..=row).contains(&total)) {
        return Err("sections that make no sense");
    }
    let position_count = if arguments.has_sections() { 4 * tokens } else { tokens };
    if positions.element_type() != Some(ElementType::I32) || positions.ne()[0] < position_count {
        return Err("positions are not i32, or too few");
    }
    let pairs = if arguments.is_vision() { n_dims } else { n_dims / 2 };
    if let Some(factors) = node.src(2) {
        if factors.element_type() != Some(ElementType::F32) || factors.ne()[0] < pairs {
            return Err("frequency factors are not f32, or too few");
        }
    }
    let (low, high) = arguments.ramp();
    let numbers = [arguments.theta_scale(), arguments.freq_scale, arguments.ext_factor, arguments.magnitude()];
    if numbers.iter().any(|x| !x.is_finite()) || (arguments.ext_factor != 0.0 && (!low.is_finite() || high.is_nan())) {
        return Err("arguments that give no finite angles");
    }
    Ok(())
}

/// `htp_rope_params`: what is the same for all positions is computed here.
fn params(node: Tensor) -> Params {
    let arguments = Arguments::of(node);
    let word = |x: f32| x.to_bits() as i32;
    let mut params = Params::default();
    params[..3].copy_from_slice(&[arguments.mode as i32, arguments.n_dims, arguments.offset]);
    params[3..7].copy_from_slice(&arguments.sections);
    params[7] = word(arguments.theta_scale());
    params[8] = word(arguments.freq_scale);
    params[9] = word(arguments.ext_factor);
    if arguments.ext_factor != 0.0 {
        let (low, high) = arguments.ramp();
        params[10] = word(low);
        params[11] = word(1.0 / (high - low).max(0.001));
    }
    params[12] = word(arguments.magnitude());
    params
}

#[cfg(test)]
mod tests {
    use super::{params, supports};
    use crate::batch::wire;
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::{self, *};

    const SHAPE: [i64; 4] = [64, 4, 3, 1];

    struct Case {
        kind: ElementType,
        mode: u32,
        n_dims: i32,
        offset: i32,
        positions: i64,
        factors: i64,
        sections: [i32; 4],
    }

    impl Case {
        fn arguments(&self) -> [i32; 16] {
            let float = |x: f32| x.to_bits() as i32;
            let mut words = [0; 16];
            words[1..5].copy_from_slice(&[self.n_dims, self.mode as i32, 0, 4096]);
            let floats = [10000.0, 0.25, 1.0, 1.5, 32.0, 1.0];
            words[5..11].copy_from_slice(&floats.map(float));
            words[11..15].copy_from_slice(&self.sections);
            words[15] = self.offset;
            words
        }

        fn is_claimed(&self) -> bool {
            let (mut x, mut p) = (tensor(self.kind, SHAPE), tensor(I32, [self.positions, 1, 1, 1]));
            let mut f = tensor(F32, [self.factors, 1, 1, 1]);
            let mut rope = node(GGML_OP_ROPE, self.kind, SHAPE, &mut [&mut x, &mut p, &mut f]);
            rope.op_params = self.arguments();
            supports(view(&rope)).is_ok()
        }
    }

    fn case() -> Case {
        let sections = [8, 8, 8, 8];
        Case { kind: F32, mode: wire::HTP_ROPE_NEOX, n_dims: 64, offset: 0, positions: 3, factors: 32, sections }
    }

    #[test]
    fn types_shapes_and_modes() {
        use wire::*;
        let vision = || Case { mode: HTP_ROPE_VISION, n_dims: 32, positions: 12, ..case() };
        for (claimed, expected) in [
            (case().is_claimed(), true),
            (Case { kind: F16, mode: HTP_ROPE_NORMAL, ..case() }.is_claimed(), true),
            (Case { kind: I32, ..case() }.is_claimed(), false),
            (Case { mode: 4, ..case() }.is_claimed(), false),
            (Case { n_dims: 62, offset: 2, ..case() }.is_claimed(), true),
            (Case { n_dims: 62, offset: 4, ..case() }.is_claimed(), false),
            (Case { n_dims: 31, ..case() }.is_claimed(), false),
            (Case { positions: 2, ..case() }.is_claimed(), false),
            (Case { factors: 31, ..case() }.is_claimed(), false),
            (Case { mode: HTP_ROPE_MROPE, ..case() }.is_claimed(), false),
            (Case { mode: HTP_ROPE_MROPE, positions: 12, ..case() }.is_claimed(), true),
            (Case { mode: HTP_ROPE_IMROPE, positions: 12, sections: [0; 4], ..case() }.is_claimed(), false),
            (vision().is_claimed(), true),
            (Case { n_dims: 30, ..vision() }.is_claimed(), false),
        ] {
            assert_eq!(claimed, expected);
        }
    }

    #[test]
    fn constants_go_onto_the_wire() {
        let mut rope = node(GGML_OP_ROPE, F32, SHAPE, &mut []);
        rope.op_params = case().arguments();
        let words = params(view(&rope));
        let float = |index: usize| f32::from_bits(words[index] as u32);
        assert_eq!(words[..7], [2, 64, 0, 8, 8, 8, 8]);
        assert!((float(7) - 10000f32.powf(-1.0 / 32.0)).abs() < 1e-6);
        assert_eq!([float(8), float(9)], [0.25, 1.0]);
        // 32 turns within 4096 positions: pair 10.46; one turn: pair 22.5
        assert_eq!([float(10), float(11)], [10.0, 1.0 / 13.0]);
        assert!((float(12) - 1.5 * (1.0 + 0.1 * 4f32.ln())).abs() < 1e-6);
    }
}
