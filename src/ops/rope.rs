//! Rotary position embedding: pairs of a row's elements are rotated by angles that grow with the row's position.

use std::f32::consts::PI;

use super::claim::{optional, rule, source, Claim, RESULT_ROWS, SAME, SAME_SHAPE, SOURCE_ROWS};
use super::{Family, Params};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::{F16, F32, I32};
use crate::ggml::tensor::Tensor;

/// See the module. Frequency factors, the last source, may be absent.
pub const FAMILY: Family = Family { name: "rope", select, claims: CLAIMS, sources: 3, tiled_source: None, params };

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

    fn pairs(&self) -> i64 {
        i64::from(if self.is_vision() { self.n_dims } else { self.n_dims / 2 })
    }

    fn are_finite(&self) -> bool {
        let (low, high) = self.ramp();
        let numbers = [self.theta_scale(), self.freq_scale, self.ext_factor, self.magnitude()];
        numbers.iter().all(|x| x.is_finite()) && (self.ext_factor == 0.0 || (low.is_finite() && !high.is_nan()))
    }

    fn theta_scale(&self) -> f32 {
        self.freq_base.powf(-2.0 / self.n_dims as f32)
    }
}

/// See [`Claim`].
const CLAIMS: &[Claim] = &[Claim {
    ops: &[wire::HTP_OP_ROPE],
    sources: &[source("rows"), source("positions"), optional("factors")],
    types: &[&[&[F32, F16], &[I32], &[F32], SAME]],
    rules: &[
        SAME_SHAPE,
        SOURCE_ROWS,
        RESULT_ROWS,
        rule!("the mode is normal, NeoX, M-RoPE, interleaved M-RoPE or vision", |node| {
            use wire::*;
            const MODES: [u32; 5] = [HTP_ROPE_NORMAL, HTP_ROPE_NEOX, HTP_ROPE_MROPE, HTP_ROPE_IMROPE, HTP_ROPE_VISION];
            Some(MODES.contains(&Arguments::of(node).mode))
        }),
        // What the kernel has room for in VTCM whatever the DSP.
        rule!("the number of dimensions to rotate is even, from 2 to 4096", |node| {
            let n_dims = Arguments::of(node).n_dims;
            Some((2..=4096).contains(&n_dims) && n_dims % 2 == 0)
        }),
        rule!(
            "rotated dimensions lie within the row, from an even offset on, and the row is even; in vision mode they \
               are half of the row",
            |node| Some(dimensions_fit(node.ne()[0], &Arguments::of(node)))
        ),
        rule!("sections are not negative, and sum up to 1 at least and to the row at most", |node| {
            let arguments = Arguments::of(node);
            let total: i64 = arguments.sections.iter().map(|&n| i64::from(n)).sum();
            let valid = arguments.sections.iter().all(|&n| n >= 0) && (1..=node.ne()[0]).contains(&total);
            Some(!arguments.has_sections() || valid)
        }),
        rule!("there is a position for each matrix of rows, four with sections", |node| {
            let each = if Arguments::of(node).has_sections() { 4 } else { 1 };
            Some(node.src(1)?.ne()[0] >= each * node.ne()[2])
        }),
        rule!("there is a factor for each pair", |node| {
            let pairs = Arguments::of(node).pairs();
            Some(node.src(2).is_none_or(|factors| factors.ne()[0] >= pairs))
        }),
        rule!("arguments give finite angles", |node| Some(Arguments::of(node).are_finite())),
    ],
}];

fn dimensions_fit(row: i64, arguments: &Arguments) -> bool {
    let (n_dims, offset) = (i64::from(arguments.n_dims), i64::from(arguments.offset));
    if arguments.is_vision() {
        return offset == 0 && row == 2 * n_dims;
    }
    offset >= 0 && offset % 2 == 0 && row % 2 == 0 && offset + n_dims <= row
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
    use super::params;
    use crate::batch::wire;
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::{self, *};
    use crate::ops::supports;

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
