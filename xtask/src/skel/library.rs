//! A DSP library as the DSP's loader sees it: program headers, dynamic section, symbols, relocations.
//!
//! Sections are not looked at: the loader does not, either.

use anyhow::{bail, ensure, Context, Result};
use object::elf;
use object::endian::LittleEndian as LE;
use object::pod::Pod;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Rela, Sym};
use object::read::ReadRef;

use super::Imports;

const ENTRY_POINT: &str = "htp_iface_skel_handle_invoke";
const ENTRY_POINT_URI: &str = "htp_iface_skel_handle_invoke_uri";
const NEEDED: [&str; 2] = ["libc.so", "libgcc.so"];

// Numbers of the Hexagon ABI that the `object` crate does not name.

/// Version of the interface between library and loader.
const DT_HEXAGON_VER: u32 = 0x7000_0001;
const HEXAGON_VER: u32 = 3;

const R_HEX_GLOB_DAT: u32 = 33;
const R_HEX_JMP_SLOT: u32 = 34;
const R_HEX_RELATIVE: u32 = 35;
const RELOCATIONS: [u32; 3] = [R_HEX_GLOB_DAT, R_HEX_JMP_SLOT, R_HEX_RELATIVE];

/// What a check found.
#[derive(Debug, Default)]
pub struct Report {
    pub problems: Vec<String>,
    /// Number of names that the library imports
    pub imports: usize,
}

impl Report {
    fn must(&mut self, condition: bool, problem: impl FnOnce() -> String) {
        if !condition {
            self.problems.push(problem());
        }
    }
}

/// Checks the file `data` of the library `name`.
pub fn check(data: &[u8], name: &str, arch: u32, imports: &Imports) -> Report {
    let mut report = Report::default();
    // What cannot be read at all ends the check.
    if let Err(error) = check_all(data, name, arch, imports, &mut report) {
        report.problems.push(format!("{error:#}"));
    }
    report
}

fn check_all(data: &[u8], name: &str, arch: u32, imports: &Imports, report: &mut Report) -> Result<()> {
    let library = Library::parse(data)?;
    check_header(&library, arch, report);
    check_segments(&library, report);
    check_dynamic(&library, name, report)?;
    check_relocations(&library, report)?;
    check_symbols(&library, name, imports, report)
}

fn check_header(library: &Library, arch: u32, report: &mut Report) {
    let (kind, flags) = (library.header.e_type(LE), library.header.e_flags(LE));
    report.must(kind == elf::ET_DYN, || format!("is of ELF type {kind}, not a shared library"));
    // v73 is 0x73
    report.must(format!("{flags:x}") == arch.to_string(), || format!("e_flags are {flags:#x}, not those of v{arch}"));
}

fn check_segments(library: &Library, report: &mut Report) {
    let mut loaded = Vec::new();
    for segment in library.segments {
        match segment.p_type(LE) {
            elf::PT_LOAD => loaded.push(segment.p_flags(LE)),
            elf::PT_DYNAMIC => {}
            elf::PT_TLS => report.problems.push("has thread-local variables".to_owned()),
            other => report.problems.push(format!("has a program header of type {other:#x}, not known to be accepted")),
        }
    }
    report.must(loaded == [elf::PF_R | elf::PF_X, elf::PF_R | elf::PF_W], || {
        format!("flags of the loaded segments are {loaded:x?}, not read-execute and read-write")
    });
}

fn check_dynamic(library: &Library, name: &str, report: &mut Report) -> Result<()> {
    let soname = library.value(elf::DT_SONAME).map(|at| library.string(at)).transpose()?;
    report.must(soname.as_deref() == Some(name), || format!("SONAME is {soname:?}, not the file's name"));
    let needed = library.values(elf::DT_NEEDED).map(|at| library.string(at)).collect::<Result<Vec<_>>>()?;
    report.must(needed == NEEDED, || format!("needs the libraries {needed:?}, not {NEEDED:?}"));
    let version = library.value(DT_HEXAGON_VER);
    report.must(version == Some(HEXAGON_VER), || format!("DT_HEXAGON_VER is {version:?}, not {HEXAGON_VER}"));
    for (tag, what) in [(elf::DT_HASH, "DT_HASH"), (elf::DT_INIT, "DT_INIT"), (elf::DT_FINI, "DT_FINI")] {
        report.must(library.value(tag).is_some(), || format!("has no {what}"));
    }
    for (tag, what) in [
        (elf::DT_GNU_HASH, "a GNU hash table"),
        (elf::DT_INIT_ARRAY, "constructors in DT_INIT_ARRAY"),
        (elf::DT_FINI_ARRAY, "destructors in DT_FINI_ARRAY"),
        (elf::DT_TEXTREL, "relocations in its code"),
        (elf::DT_REL, "relocations without addends"),
    ] {
        report.must(library.value(tag).is_none(), || format!("has {what}"));
    }
    Ok(())
}

fn check_relocations(library: &Library, report: &mut Report) -> Result<()> {
    for relocation in library.relocations()? {
        let (kind, at) = (relocation.r_type(LE), relocation.r_offset(LE));
        report.must(RELOCATIONS.contains(&kind), || format!("has a relocation of type {kind} at {at:#x}"));
        let writable = library.segment(at, 4).is_some_and(|segment| segment.p_flags(LE) & elf::PF_W != 0);
        report.must(writable, || format!("has a relocation at {at:#x}, which is not writable"));
    }
    Ok(())
}

fn check_symbols(library: &Library, name: &str, imports: &Imports, report: &mut Report) -> Result<()> {
    let mut exports = Vec::new();
    for symbol in library.symbols()?.iter().skip(1) {
        let symbol_name = library.string(symbol.st_name(LE))?;
        report.must(symbol.st_type() != elf::STT_TLS, || format!("{symbol_name} is a thread-local variable"));
        if symbol.is_undefined(LE) {
            report.imports += 1;
            report.problems.extend(imports.objection(&symbol_name, symbol.st_bind() == elf::STB_WEAK));
        } else {
            exports.push((symbol_name, symbol));
        }
    }
    exports.sort_by(|a, b| a.0.cmp(&b.0));
    let names: Vec<&str> = exports.iter().map(|(name, _)| name.as_str()).collect();
    report.must(names == [ENTRY_POINT, ENTRY_POINT_URI], || {
        format!("exports {names:?}, not {ENTRY_POINT} and {ENTRY_POINT_URI}")
    });
    if let Some((_, symbol)) = exports.iter().find(|(name, _)| name == ENTRY_POINT) {
        let executable = library.segment(symbol.st_value(LE), 4).is_some_and(|s| s.p_flags(LE) & elf::PF_X != 0);
        report.must(executable, || format!("{ENTRY_POINT} is not code"));
    }
    if let Some((_, symbol)) = exports.iter().find(|(name, _)| name == ENTRY_POINT_URI) {
        let uri = library.slice::<u8>(symbol.st_value(LE), symbol.st_size(LE))?;
        let expected = format!("file:///{name}?{ENTRY_POINT}&_modver=1.0\0");
        report.must(uri == expected.as_bytes(), || {
            format!("{ENTRY_POINT_URI} is {:?}, not {expected:?}", String::from_utf8_lossy(uri))
        });
    }
    Ok(())
}

/// The parts of the file that the loader reads.
struct Library<'data> {
    data: &'data [u8],
    header: &'data elf::FileHeader32<LE>,
    segments: &'data [elf::ProgramHeader32<LE>],
    dynamic: &'data [elf::Dyn32<LE>],
}

impl<'data> Library<'data> {
    fn parse(data: &'data [u8]) -> Result<Library<'data>> {
        let header = elf::FileHeader32::<LE>::parse(data).context("not a 32-bit ELF file")?;
        ensure!(header.is_little_endian(), "is big-endian");
        let machine = header.e_machine(LE);
        ensure!(machine == elf::EM_HEXAGON, "is for machine {machine}, not Hexagon");
        let segments = header.program_headers(LE, data)?;
        let mut found = None;
        for segment in segments {
            found = found.or(segment.dynamic(LE, data)?);
        }
        let dynamic = found.context("has no dynamic section")?;
        let end = dynamic.iter().position(|entry| entry.d_tag(LE) == elf::DT_NULL).unwrap_or(dynamic.len());
        Ok(Library { data, header, segments, dynamic: &dynamic[..end] })
    }

    /// The values of a tag that may come several times.
    fn values(&self, tag: u32) -> impl Iterator<Item = u32> + '_ {
        self.dynamic.iter().filter(move |entry| entry.d_tag(LE) == tag).map(|entry| entry.d_val(LE))
    }

    fn value(&self, tag: u32) -> Option<u32> {
        self.values(tag).next()
    }

    fn required(&self, tag: u32, what: &str) -> Result<u32> {
        self.value(tag).with_context(|| format!("has no {what}"))
    }

    /// The loaded segment that has these bytes of memory.
    fn segment(&self, address: u32, bytes: u32) -> Option<&'data elf::ProgramHeader32<LE>> {
        let end = u64::from(address) + u64::from(bytes);
        self.segments.iter().find(|segment| {
            let begin = segment.p_vaddr(LE);
            segment.p_type(LE) == elf::PT_LOAD
                && begin <= address
                && end <= u64::from(begin) + u64::from(segment.p_memsz(LE))
        })
    }

    /// `count` values at an address; they must come from the file.
    fn slice<T: Pod>(&self, address: u32, count: u32) -> Result<&'data [T]> {
        let bytes = u64::from(count) * size_of::<T>() as u64;
        let segment = u32::try_from(bytes).ok().and_then(|bytes| self.segment(address, bytes));
        let segment = segment.with_context(|| format!("refers to memory that it does not have, at {address:#x}"))?;
        let skip = u64::from(address - segment.p_vaddr(LE));
        if skip + bytes > u64::from(segment.p_filesz(LE)) {
            bail!("refers to memory that is not in the file, at {address:#x}");
        }
        let at = u64::from(segment.p_offset(LE)) + skip;
        self.data.read_slice_at(at, count as usize).ok().with_context(|| format!("is cut off: nothing at {at:#x}"))
    }

    /// A string of the string table.
    fn string(&self, at: u32) -> Result<String> {
        let table = self
            .slice::<u8>(self.required(elf::DT_STRTAB, "string table")?, self.required(elf::DT_STRSZ, "DT_STRSZ")?)?;
        let rest = table.get(at as usize..).context("a name lies outside the string table")?;
        let end = rest.iter().position(|&byte| byte == 0).context("a name does not end")?;
        Ok(String::from_utf8_lossy(&rest[..end]).into_owned())
    }

    /// All symbols; the hash table says how many there are.
    fn symbols(&self) -> Result<&'data [elf::Sym32<LE>]> {
        let hash = self.slice::<elf::HashHeader<LE>>(self.required(elf::DT_HASH, "DT_HASH")?, 1)?;
        self.slice(self.required(elf::DT_SYMTAB, "symbol table")?, hash[0].chain_count.get(LE))
    }

    /// The relocations of data and of calls.
    fn relocations(&self) -> Result<Vec<&'data elf::Rela32<LE>>> {
        let mut all = Vec::new();
        for (table, bytes) in [(elf::DT_RELA, elf::DT_RELASZ), (elf::DT_JMPREL, elf::DT_PLTRELSZ)] {
            if let Some(address) = self.value(table) {
                let count = self.required(bytes, "size of a relocation table")? / size_of::<elf::Rela32<LE>>() as u32;
                all.extend(self.slice::<elf::Rela32<LE>>(address, count)?);
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
#[path = "library_tests.rs"]
mod tests;
