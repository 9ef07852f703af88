//! Every HVX intrinsic that kernels use is on the list that the check program runs through: natively against plain
//! models, and in the emulator, where the integer ones are real instructions, against the same models.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Intrinsics that take vectors apart and put them together: no check could do without them.
const PLUMBING: &[&str] = &["Q6_V_lo_W", "Q6_V_hi_W", "Q6_W_vcombine_VV", "Q6_V_vzero"];

/// The store under a predicate has no result: check/wrappers.c looks at memory, through the wrappers that use it.
const STORES: &[&str] = &["Q6_vmem_QRIV"];

fn names(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let names = text.match_indices("Q6_").map(|(at, _)| text[at..].chars().take_while(|&c| is_name(c)).collect());
    // "Q6_*" in a comment names none.
    names.filter(|name: &String| name != "Q6_").collect()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "c" || extension == "h") {
            found.push(path);
        }
    }
}

#[test]
fn every_intrinsic_of_a_kernel_is_checked() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut checked = names(&fs::read_to_string(root.join("hvx/emul/list.h")).expect("the list"));
    checked.extend(names(&fs::read_to_string(root.join("check/intrinsics.c")).expect("the check")));
    let mut sources = Vec::new();
    files(&root.join("ops"), &mut sources);
    files(&root.join("hvx"), &mut sources);
    sources.retain(|path| !path.starts_with(root.join("hvx/emul")));
    assert!(sources.len() > 10);
    for path in sources {
        for name in names(&fs::read_to_string(&path).expect("a source")) {
            let known = checked.contains(&name) || [PLUMBING, STORES].concat().contains(&name.as_str());
            assert!(known, "{}: {name} is not in hvx/emul/list.h, so no check runs it", path.display());
        }
    }
}
