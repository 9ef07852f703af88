//! Recurrent layers: a state for each head of a sequence, which each token changes and reads. GATED_DELTA_NET, SSM_SCAN,
//! RWKV_WKV6, RWKV_WKV7 and GATED_LINEAR_ATTN. The result has what the tokens read, then the states behind them.
//!
//! `htp_recurrent_params` has the number of states that are kept, which ggml has as the first argument of two ops, and a
//! factor of the results.

use super::claim::{rule, source, Claim, Rule};
use super::{Family, Params};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::ElementType::{F32, I32};
use crate::ggml::tensor::Tensor;

/// See the module.
pub const FAMILY: Family = Family { name: "recurrent", select, claims: CLAIMS, sources: 7, tiled_source: None, params };

/// `RECURRENT_MAX_LENGTH` of the kernels.
const MAX_LENGTH: i64 = 1024;

fn select(node: Tensor) -> Option<wire::htp_op> {
    match node.op() {
        ggml::GGML_OP_GATED_DELTA_NET => Some(wire::HTP_OP_GATED_DELTA_NET),
        ggml::GGML_OP_SSM_SCAN => Some(wire::HTP_OP_SSM_SCAN),
        ggml::GGML_OP_RWKV_WKV6 => Some(wire::HTP_OP_RWKV_WKV6),
        ggml::GGML_OP_RWKV_WKV7 => Some(wire::HTP_OP_RWKV_WKV7),
        ggml::GGML_OP_GATED_LINEAR_ATTN => Some(wire::HTP_OP_GATED_LINEAR_ATTN),
        _ => None,
    }
}

/// How the sizes of a node make up its states.
struct Shape {
    /// Results of a token: elements of all heads.
    results: i64,
    tokens: i64,
    sequences: i64,
    /// Elements of a sequence's state.
    state: i64,
    snapshots: i64,
    /// The source with the states.
    source: usize,
}

/// `None`: the product of the sizes of a head is too large, or a source is missing.
fn shape(node: Tensor) -> Option<Shape> {
    let (values, source) = match node.op() {
        ggml::GGML_OP_GATED_DELTA_NET => (2, 5),
        ggml::GGML_OP_SSM_SCAN => (1, 0),
        ggml::GGML_OP_RWKV_WKV6 => (1, 5),
        ggml::GGML_OP_RWKV_WKV7 => (1, 6),
        _ => (1, 4),
    };
    let ([size, heads, tokens, sequences], state) = (node.src(values)?.ne(), node.src(source)?);
    let results = size.checked_mul(heads)?;
    let (tokens, sequences) = match node.op() {
        ggml::GGML_OP_GATED_DELTA_NET | ggml::GGML_OP_SSM_SCAN => (tokens, sequences),
        _ if sequences != 1 || state.ne()[1] < 1 || tokens % state.ne()[1] != 0 => return None,
        _ => (tokens / state.ne()[1], state.ne()[1]),
    };
    let length = if node.op() == ggml::GGML_OP_SSM_SCAN { state.ne()[0] } else { size };
    let state = results.checked_mul(length)?;
    Some(Shape { results, tokens, sequences, state, snapshots: i64::from(snapshots(node)), source })
}

fn snapshots(node: Tensor) -> i32 {
    match node.op() {
        ggml::GGML_OP_GATED_DELTA_NET | ggml::GGML_OP_SSM_SCAN => node.params()[0],
        _ => 1,
    }
}

/// The result's elements, and that everything that the kernel takes as one block is one.
const STATES_FIT: Rule = rule!(
    "states and result are contiguous; the result has the elements of all tokens and of one state a sequence, or of as \
     many as are to be kept",
    |node| {
        let s = shape(node)?;
        let elements = |t: Tensor| t.rows().checked_mul(t.ne()[0]);
        let results = s.results.checked_mul(s.tokens)?.checked_mul(s.sequences)?;
        let states = s.state.checked_mul(s.sequences)?.checked_mul(s.snapshots)?;
        let source = node.src(s.source)?;
        let of_sequences = node.op() == ggml::GGML_OP_SSM_SCAN || elements(source)? == s.state * s.sequences;
        Some(
            node.is_contiguous()
                && source.is_contiguous()
                && of_sequences
                && elements(node)? == results.checked_add(states)?,
        )
    }
);

const LENGTH: Rule = rule!("rows of a head's state have at most 1024 elements, and no size is 0", |node| {
    let sources = (0..FAMILY.sources).filter_map(|index| node.src(index));
    let length = if node.op() == ggml::GGML_OP_SSM_SCAN { node.src(0)?.ne()[0] } else { node.src(1)?.ne()[0] };
    Some(length <= MAX_LENGTH && sources.into_iter().all(|t| !t.is_empty()) && snapshots(node) >= 1)
});

const ROWS: Rule = rule!("elements of a row of each source lie side by side", |node| {
    Some((0..FAMILY.sources).filter_map(|index| node.src(index)).all(|t| t.nb()[0] == 4))
});

/// See [`Claim`].
const CLAIMS: &[Claim] = &[
    Claim {
        ops: &[wire::HTP_OP_GATED_DELTA_NET],
        sources: &[source("q"), source("k"), source("v"), source("gate"), source("beta"), source("states")],
        types: &[&[&[F32], &[F32], &[F32], &[F32], &[F32], &[F32], &[F32]]],
        rules: &[
            ROWS,
            LENGTH,
            STATES_FIT,
            rule!(
                "v is [size, heads, tokens, sequences]; gate is the same or has one element a head, beta has one; q and \
                 k may have fewer heads, and sequences of which those of v are a multiple",
                delta_net_fits
            ),
        ],
    },
    Claim {
        ops: &[wire::HTP_OP_SSM_SCAN],
        sources: &[
            source("states"),
            source("x"),
            source("dt"),
            source("decay"),
            source("b"),
            source("c"),
            source("ids"),
        ],
        types: &[&[&[F32], &[F32], &[F32], &[F32], &[F32], &[F32], &[I32], &[F32]]],
        rules: &[
            ROWS,
            LENGTH,
            STATES_FIT,
            rule!(
                "x is [size, heads, tokens, sequences] with heads side by side, states are [length, size, heads, n], dt \
                 is [heads, tokens, sequences], decay [1 or length, heads], b and c are [length, groups, tokens, \
                 sequences] with heads a multiple of groups, ids has an element a sequence",
                scan_fits
            ),
        ],
    },
    Claim {
        ops: &[wire::HTP_OP_RWKV_WKV6],
        sources: &[
            source("k"),
            source("v"),
            source("r"),
            source("bonus"),
            source("decay"),
            source("states"),
        ],
        types: &[&[&[F32], &[F32], &[F32], &[F32], &[F32], &[F32], &[F32]]],
        rules: &[ROWS, LENGTH, STATES_FIT, LINEAR],
    },
    Claim {
        ops: &[wire::HTP_OP_RWKV_WKV7],
        sources: &[
            source("r"),
            source("decay"),
            source("k"),
            source("v"),
            source("a"),
            source("b"),
            source("states"),
        ],
        types: &[&[&[F32], &[F32], &[F32], &[F32], &[F32], &[F32], &[F32], &[F32]]],
        rules: &[ROWS, LENGTH, STATES_FIT, LINEAR],
    },
    Claim {
        ops: &[wire::HTP_OP_GATED_LINEAR_ATTN],
        sources: &[source("k"), source("v"), source("q"), source("gate"), source("states")],
        types: &[&[&[F32], &[F32], &[F32], &[F32], &[F32], &[F32]]],
        rules: &[ROWS, LENGTH, STATES_FIT, LINEAR],
    },
];

const LINEAR: Rule = rule!(
    "sources but states and bonus are [size, heads, tokens of all sequences], bonus is [size, heads], states have a row \
     a sequence",
    |node| {
        let (s, [size, heads, all, _]) = (shape(node)?, node.src(1)?.ne());
        let fits = |index: usize| {
            let is_bonus = node.op() == ggml::GGML_OP_RWKV_WKV6 && index == 3;
            Some(node.src(index)?.ne() == [size, heads, if is_bonus { 1 } else { all }, 1])
        };
        Some((0..s.source).all(|index| fits(index) == Some(true)) && s.sequences >= 1)
    }
);

fn delta_net_fits(node: Tensor) -> Option<bool> {
    let [size, heads, tokens, sequences] = node.src(2)?.ne();
    let repeats = |index: usize| {
        let [n0, n1, n2, n3] = node.src(index)?.ne();
        Some(n0 == size && n1 >= 1 && n2 == tokens && n3 >= 1 && sequences % n3 == 0)
    };
    let gate = node.src(3)?.ne();
    Some(
        repeats(0)?
            && repeats(1)?
            && (gate[0] == 1 || gate[0] == size)
            && gate[1..] == [heads, tokens, sequences]
            && node.src(4)?.ne() == [1, heads, tokens, sequences]
            && node.src(5)?.ne() == [size, size, heads, sequences],
    )
}

fn scan_fits(node: Tensor) -> Option<bool> {
    let (states, x) = (node.src(0)?, node.src(1)?);
    let ([length, ..], [size, heads, tokens, sequences]) = (states.ne(), x.ne());
    let (decay, b) = (node.src(3)?, node.src(4)?.ne());
    let groups = b[1];
    Some(
        states.ne()[1..3] == [size, heads]
            && (heads == 1 || x.nb()[1] as i64 == size * 4)
            && node.src(2)?.ne() == [heads, tokens, sequences, 1]
            && (decay.ne()[0] == 1 || decay.ne()[0] == length)
            && decay.ne()[1..] == [heads, 1, 1]
            && decay.is_contiguous()
            && groups >= 1
            && heads % groups == 0
            && b == [length, groups, tokens, sequences]
            && node.src(5)?.ne() == b
            && node.src(6)?.ne() == [sequences, 1, 1, 1],
    )
}

fn params(node: Tensor) -> Params {
    let scale = match node.op() {
        // Heads have at most MAX_LENGTH elements.
        ggml::GGML_OP_GATED_DELTA_NET => 1.0 / (node.src(2).map_or(1, |v| v.ne()[0]) as f32).sqrt(),
        ggml::GGML_OP_GATED_LINEAR_ATTN => f32::from_bits(node.params()[0] as u32),
        _ => 1.0,
    };
    let mut params = Params::default();
    params[0] = snapshots(node);
    params[1] = scale.to_bits() as i32;
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
    fn delta_net() {
        for (v, gate, keep, rows, expected) in [
            ([16, 4, 3, 2], 1, 1, 6 + 32, true),
            ([16, 4, 3, 2], 16, 2, 6 + 64, true),
            ([16, 4, 3, 2], 8, 1, 6 + 32, false),
            ([16, 4, 3, 2], 1, 0, 6, false),
            ([16, 4, 3, 2], 1, 1, 6 + 64, false),
            ([16, 4, 3, 3], 1, 1, 6 + 32, false),
        ] {
            let mut src = [
                tensor(F32, [16, 2, 3, 1]),
                tensor(F32, [16, 4, 3, 2]),
                tensor(F32, v),
                tensor(F32, [gate, 4, 3, 2]),
                tensor(F32, [1, 4, 3, 2]),
                tensor(F32, [16, 16, 4, 2]),
            ];
            let mut src: Vec<_> = src.iter_mut().collect();
            let mut net = node(GGML_OP_GATED_DELTA_NET, F32, [64, rows, 1, 1], &mut src);
            net.op_params[0] = keep;
            assert_eq!(supports(view(&net)).is_ok(), expected, "{v:?} {gate} {keep} {rows}");
            assert_eq!(params(view(&net))[..2], [keep, 0.25f32.to_bits() as i32]);
        }
    }

    #[test]
    fn scan() {
        for (states, groups, decay, elements, expected) in [
            ([8, 16, 4, 5], 2, 1, 384 + 1024, true),
            ([8, 16, 4, 5], 1, 8, 384 + 1024, true),
            ([8, 16, 4, 5], 3, 1, 384 + 1024, false),
            ([8, 16, 3, 5], 1, 1, 384 + 1024, false),
            ([8, 16, 4, 5], 1, 1, 384 + 512, false),
        ] {
            let mut src = [
                tensor(F32, states),
                tensor(F32, [16, 4, 3, 2]),
                tensor(F32, [4, 3, 2, 1]),
                tensor(F32, [decay, 4, 1, 1]),
                tensor(F32, [8, groups, 3, 2]),
                tensor(F32, [8, groups, 3, 2]),
                tensor(I32, [2, 1, 1, 1]),
            ];
            let mut src: Vec<_> = src.iter_mut().collect();
            let mut scan = node(GGML_OP_SSM_SCAN, F32, [elements, 1, 1, 1], &mut src);
            scan.op_params[0] = 1;
            assert_eq!(supports(view(&scan)).is_ok(), expected, "{states:?} {groups} {decay} {elements}");
        }
    }

    #[test]
    fn linear() {
        for (op, inputs) in [(GGML_OP_RWKV_WKV6, 5), (GGML_OP_RWKV_WKV7, 6), (GGML_OP_GATED_LINEAR_ATTN, 4)] {
            for (sequences, rows, expected) in [(2, 6 + 32, true), (2, 6 + 16, false), (4, 6 + 64, false)] {
                let mut src: Vec<_> = (0..inputs).map(|_| tensor(F32, [16, 4, 6, 1])).collect();
                if op == GGML_OP_RWKV_WKV6 {
                    src[3] = tensor(F32, [16, 4, 1, 1]);
                }
                src.push(tensor(F32, [16 * 16 * 4, sequences, 1, 1]));
                let mut src: Vec<_> = src.iter_mut().collect();
                let mut linear = node(op, F32, [64, rows, 1, 1], &mut src);
                linear.op_params[0] = 2f32.to_bits() as i32;
                assert_eq!(supports(view(&linear)).is_ok(), expected, "{op} {sequences} {rows}");
                let scale = if op == GGML_OP_GATED_LINEAR_ATTN { 2f32 } else { 1.0 };
                assert_eq!(params(view(&linear))[..2], [1, scale.to_bits() as i32]);
            }
        }
    }
}
