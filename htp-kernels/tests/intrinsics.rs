//! Every HVX intrinsic that kernels use is in hvx/emul/list.h: what is listed there is compared with a plain model on
//! this machine, and in the emulator, where the integer ones are real instructions, with the results of this machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text without comments: those may name what they explain.
fn code(text: &str) -> String {
    let mut parts = text.split("/*");
    let mut code = parts.next().unwrap_or("").to_owned();
    for part in parts {
        code += part.split_once("*/").map_or("", |(_, behind)| behind);
    }
    code.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

/// The names that begin with Q6_. In `plain_Q6_x` the name is Q6_x, too. Q6_K is a type of weights.
fn names(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices("Q6_")
        .map(|(at, _)| text[at..].chars().take_while(|&c| is_name(c)).collect())
        .filter(|name: &String| !name.starts_with("Q6_K"))
        .collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "c" || extension == "h") {
            found.push(path);
        }
    }
}

fn listed() -> String {
    code(&read(&root().join("hvx/emul/list.h")))
}

#[test]
fn every_intrinsic_of_a_kernel_is_listed() {
    let listed = names(&listed());
    let mut paths = Vec::new();
    for folder in ["ops", "hvx", "hmx", "runtime"] {
        sources(&root().join(folder), &mut paths);
    }
    paths.retain(|path| !path.starts_with(root().join("hvx/emul")));
    assert!(paths.len() > 10 && listed.len() > 50);
    for path in paths {
        for name in names(&code(&read(&path))) {
            assert!(
                listed.contains(&name),
                "{}: {name} is not in hvx/emul/list.h, so no check runs it",
                path.display()
            );
        }
    }
}

/// On Hexagon a float intrinsic that is not replaced would be an instruction that no emulator has.
#[test]
fn every_float_intrinsic_has_a_replacement() {
    let list = listed();
    let float: BTreeSet<String> =
        list.split("#define ").filter(|part| part.starts_with("HVX_LIST_FLOAT_")).flat_map(names).collect();
    assert!(float.len() > 10);
    let text = code(&read(&root().join("hvx/emul/float_lanes.h")));
    let replaced: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("#define "))
        .filter_map(|rest| rest.split(|c: char| c.is_whitespace() || c == '(').next())
        .collect();
    for name in float {
        assert!(replaced.contains(name.as_str()), "{name} is not in hvx/emul/float_lanes.h");
    }
}

#[test]
fn names_in_code() {
    let text = "/* Q6_A */ Q6_B(plain_Q6_C_VV(x), HTP_TYPE_Q6_K); // Q6_D\nQ6_E /* Q6_F\n*/ Q6_G";
    let found: Vec<String> = names(&code(text)).into_iter().collect();
    assert_eq!(found, ["Q6_B", "Q6_C_VV", "Q6_E", "Q6_G"]);
}
