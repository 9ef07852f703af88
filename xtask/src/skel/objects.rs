//! The object files of op kernels: which functions of the compiler's runtime library do they call?

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use object::elf::{FileHeader32, SHT_SYMTAB};
use object::read::elf::{FileHeader, Sym};
use object::LittleEndian;

/// Calls that the compiler may put into a kernel: integer division and copies. What else it has in its library is
/// slow arithmetic, in double precision for the most part, that nobody meant to write, or not there on the DSP.
const ALLOWED: &[&str] = &[
    "__hexagon_udivsi3",
    "__hexagon_umodsi3",
    "__hexagon_divsi3",
    "__hexagon_modsi3",
    "__hexagon_udivdi3",
    "__hexagon_memcpy_likely_aligned_min32bytes_mult8bytes",
];

/// Looks at all objects in a folder and those below it; says what they must not call.
pub fn check(folder: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let mut folders = vec![folder.to_owned()];
    let mut objects = 0;
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "o") {
                objects += 1;
                let data = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
                let helpers = helpers(&data).with_context(|| format!("in {}", path.display()))?;
                let refused = helpers.into_iter().filter(|name| !ALLOWED.contains(&name.as_str()));
                problems.extend(refused.map(|name| format!("{} calls {name}", path.display())));
            }
        }
    }
    if objects == 0 {
        problems.push(format!("there are no objects in {}", folder.display()));
    }
    problems.sort();
    Ok(problems)
}

/// Undefined names of an object that are the compiler's: they begin with two underscores.
fn helpers(data: &[u8]) -> Result<Vec<String>> {
    let header = FileHeader32::<LittleEndian>::parse(data)?;
    let endian = header.endian()?;
    let symbols = header.sections(endian, data)?.symbols(endian, data, SHT_SYMTAB)?;
    let mut names = Vec::new();
    for symbol in symbols.iter().filter(|symbol| symbol.is_undefined(endian)) {
        let name = symbol.name(endian, symbols.strings())?;
        if name.starts_with(b"__") {
            names.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    Ok(names)
}
