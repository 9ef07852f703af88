//! `docs/ops.md`, written from what the families claim: `cargo xtask docs`. A test compares it with the committed file.

use std::fmt::Write;

use super::claim::{Claim, Types};
use super::{op_list, Family, FAMILIES, GENERAL};
use crate::ggml::storage::tile_type;

const HEAD: &str = "\
# Ops

Written by `cargo xtask docs` from the claims in `src/ops/`, by which the plug-in decides which nodes it computes.
What is not claimed here is left to another backend.

For each op: the types of its sources and of the result, one line a combination (\"same\": the type of the first source),
then what else has to hold. Shapes are written innermost dimension first. Shapes and strides are free where nothing is
said of them.
";

/// The whole file.
pub fn markdown() -> String {
    let mut text = String::from(HEAD);
    text.push_str("\nFor every tensor of every op:\n\n");
    for rule in GENERAL {
        line(&mut text, format_args!("- {}", rule.says));
    }
    for family in FAMILIES {
        line(&mut text, format_args!("\n## {}", family.name));
        for claim in family.claims {
            write_claim(&mut text, family, claim);
        }
    }
    text
}

fn line(text: &mut String, arguments: std::fmt::Arguments) {
    // A String takes everything.
    let _ = writeln!(text, "{arguments}");
}

fn write_claim(text: &mut String, family: &Family, claim: &Claim) {
    let ops: Vec<&str> = op_list().filter(|(op, ..)| claim.ops.contains(op)).map(|(_, name, _)| name).collect();
    line(text, format_args!("\n### {}\n", ops.join(", ")));
    let sources = claim.sources.iter().map(|source| match source.optional {
        true => format!("{} (optional)", source.name),
        false => source.name.to_string(),
    });
    row(text, sources.chain(["result".into()]));
    row(text, (0..=claim.sources.len()).map(|_| "---".into()));
    for types in claim.types {
        row(text, types.iter().map(|types| names(types)));
    }
    // Some ops of the family may read only types that have no tiles.
    let has_tiles = |index: usize| {
        let mut kinds = claim.types.iter().filter_map(|types| types.get(index)).copied().flatten();
        kinds.any(|&kind| tile_type(kind).is_some())
    };
    let tiled = family.tiled_source.filter(|&index| has_tiles(index)).and_then(|index| claim.sources.get(index));
    if !claim.rules.is_empty() || tiled.is_some() {
        text.push('\n');
    }
    for rule in claim.rules {
        line(text, format_args!("- {}", rule.says));
    }
    if let Some(source) = tiled {
        line(
            text,
            format_args!("- {} may lie in a `HTPn-REPACK` buffer: whole, or whole strips of 32 rows", source.name),
        );
    }
}

fn row(text: &mut String, cells: impl Iterator<Item = String>) {
    line(text, format_args!("| {} |", cells.collect::<Vec<_>>().join(" | ")));
}

fn names(types: Types) -> String {
    if types.is_empty() {
        return "same".into();
    }
    let names: Vec<String> = types.iter().map(|kind| format!("{kind:?}")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_file_is_current() {
        let committed = include_str!("../../docs/ops.md");
        assert!(committed == super::markdown(), "docs/ops.md is not what the claims say: run `cargo xtask docs`");
    }
}
