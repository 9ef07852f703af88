use super::*;

/// A small library, made by hand so that each part can be spoiled.
struct Parts {
    machine: u16,
    flags: u32,
    kind: u16,
    soname: &'static str,
    uri: &'static str,
    relocation: u32,
    relocated: u32,
    import: (&'static str, u8),
    data_flags: u32,
    extra_segment: Option<u32>,
    /// Dynamic entries to leave out, and to add
    without: &'static [u32],
    with: Option<(u32, u32)>,
}

const WEAK: u8 = elf::STB_WEAK << 4;
const GLOBAL: u8 = elf::STB_GLOBAL << 4;
const CODE_AT: usize = 0x300;
const DATA_AT: usize = 0x400;
const DYNAMIC_AT: usize = 0x440;
const FILE_BYTES: usize = 0x600;

impl Default for Parts {
    fn default() -> Parts {
        Parts {
            machine: elf::EM_HEXAGON,
            flags: 0x73,
            kind: elf::ET_DYN,
            soname: "libggml-htp-v73.so",
            uri: "file:///libggml-htp-v73.so?htp_iface_skel_handle_invoke&_modver=1.0",
            relocation: R_HEX_JMP_SLOT,
            relocated: DATA_AT as u32,
            import: ("memcpy", GLOBAL),
            data_flags: elf::PF_R | elf::PF_W,
            extra_segment: None,
            without: &[],
            with: None,
        }
    }
}

struct File(Vec<u8>);

impl File {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn words(&mut self, at: usize, words: &[u32]) {
        for (i, word) in words.iter().enumerate() {
            self.put(at + 4 * i, &word.to_le_bytes());
        }
    }

    fn halves(&mut self, at: usize, halves: &[u16]) {
        for (i, half) in halves.iter().enumerate() {
            self.put(at + 2 * i, &half.to_le_bytes());
        }
    }
}

/// Addresses equal offsets in the file.
fn build(parts: &Parts) -> Vec<u8> {
    let mut file = File(vec![0; FILE_BYTES]);
    file.put(0, &[0x7f, b'E', b'L', b'F', 1, 1, 1]);
    file.halves(16, &[parts.kind, parts.machine]);
    file.words(20, &[1, 0, 52, 0, parts.flags]);
    file.halves(40, &[52, 32, if parts.extra_segment.is_some() { 4 } else { 3 }, 40, 0, 0]);
    let (data_at, dynamic_at) = (DATA_AT as u32, DYNAMIC_AT as u32);
    let data_bytes = FILE_BYTES as u32 - data_at;
    file.words(52, &[elf::PT_LOAD, 0, 0, 0, data_at, data_at, elf::PF_R | elf::PF_X, 0x1000]);
    file.words(84, &[elf::PT_LOAD, data_at, data_at, 0, data_bytes, data_bytes, parts.data_flags, 0x1000]);
    file.words(116, &[elf::PT_DYNAMIC, dynamic_at, dynamic_at, 0, 0x100, 0x100, elf::PF_R | elf::PF_W, 4]);
    file.words(148, &[parts.extra_segment.unwrap_or(0), 0, 0, 0, 0, 0, elf::PF_R, 4]);

    let mut strings = vec![0u8];
    let mut string = |text: &str| {
        let at = strings.len() as u32;
        strings.extend(text.as_bytes());
        strings.push(0);
        at
    };
    let (soname, libc, libgcc) = (string(parts.soname), string("libc.so"), string("libgcc.so"));
    let (import, entry, uri) = (string(parts.import.0), string(ENTRY_POINT), string(ENTRY_POINT_URI));
    assert!(strings.len() <= 0x80);
    file.put(0x100, &strings);
    file.words(0x180, &[1, 4, 0, 0, 0, 0, 0]); // hash table: four symbols
    let uri_at = CODE_AT as u32 + 0x40;
    for (i, (name, at, bytes, info, section)) in [
        (import, 0, 0, parts.import.1, 0u16),
        (entry, CODE_AT as u32, 4, GLOBAL | elf::STT_FUNC, 7),
        (uri, uri_at, parts.uri.len() as u32 + 1, GLOBAL | elf::STT_OBJECT, 8),
    ]
    .into_iter()
    .enumerate()
    {
        let symbol = 0x1c0 + 16 * (i + 1);
        file.words(symbol, &[name, at, bytes]);
        file.put(symbol + 12, &[info, 0]);
        file.halves(symbol + 14, &[section]);
    }
    file.words(0x240, &[parts.relocated, 1 << 8 | parts.relocation, 0]);
    file.put(uri_at as usize, parts.uri.as_bytes());

    let entries = [
        (elf::DT_NEEDED, libc),
        (elf::DT_NEEDED, libgcc),
        (elf::DT_SONAME, soname),
        (DT_HEXAGON_VER, HEXAGON_VER),
        (elf::DT_HASH, 0x180),
        (elf::DT_STRTAB, 0x100),
        (elf::DT_STRSZ, 0x80),
        (elf::DT_SYMTAB, 0x1c0),
        (elf::DT_JMPREL, 0x240),
        (elf::DT_PLTRELSZ, 12),
        (elf::DT_INIT, CODE_AT as u32),
        (elf::DT_FINI, CODE_AT as u32),
    ];
    let kept = entries.into_iter().filter(|entry| !parts.without.contains(&entry.0)).chain(parts.with);
    for (i, (tag, value)) in kept.enumerate() {
        file.words(DYNAMIC_AT + 8 * i, &[tag, value]);
    }
    file.0
}

fn problems(parts: &Parts) -> Vec<String> {
    let imports = Imports::parse("memcpy\nweak HAP_debug_v2\n").expect("a list");
    check(&build(parts), "libggml-htp-v73.so", 73, &imports).problems
}

/// The one problem of a library.
fn problem(parts: Parts) -> String {
    let problems = problems(&parts);
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems.concat()
}

#[test]
fn a_good_library() {
    assert_eq!(problems(&Parts::default()), [""; 0]);
    assert_eq!(problems(&Parts { import: ("HAP_debug_v2", WEAK), ..Parts::default() }), [""; 0]);
}

#[test]
fn kind_and_architecture() {
    assert!(problem(Parts { machine: elf::EM_ARM, ..Parts::default() }).contains("not Hexagon"));
    assert!(problem(Parts { kind: elf::ET_EXEC, ..Parts::default() }).contains("not a shared library"));
    assert!(problem(Parts { flags: 0x75, ..Parts::default() }).contains("0x75"));
    let mut big = build(&Parts::default());
    big[5] = 2;
    let imports = Imports::parse("").expect("a list");
    assert!(!check(&big, "x", 73, &imports).problems.is_empty());
    assert!(!check(b"text", "x", 73, &imports).problems.is_empty());
}

#[test]
fn segments() {
    assert!(problem(Parts { extra_segment: Some(elf::PT_TLS), ..Parts::default() }).contains("thread-local"));
    assert!(problem(Parts { extra_segment: Some(elf::PT_GNU_STACK), ..Parts::default() }).contains("0x6474e551"));
    let all = elf::PF_R | elf::PF_W | elf::PF_X;
    assert!(problem(Parts { data_flags: all, ..Parts::default() }).contains("read-write"));
}

#[test]
fn dynamic_section() {
    assert!(problem(Parts { soname: "libggml-htp-v75.so", ..Parts::default() }).contains("SONAME"));
    assert!(problem(Parts { without: &[elf::DT_SONAME], ..Parts::default() }).contains("SONAME"));
    assert!(problem(Parts { without: &[elf::DT_NEEDED], ..Parts::default() }).contains("needs"));
    assert!(problem(Parts { without: &[DT_HEXAGON_VER], ..Parts::default() }).contains("DT_HEXAGON_VER"));
    assert!(problem(Parts { without: &[elf::DT_INIT], ..Parts::default() }).contains("DT_INIT"));
    assert!(problem(Parts { with: Some((elf::DT_GNU_HASH, 0x180)), ..Parts::default() }).contains("GNU"));
    assert!(problem(Parts { with: Some((elf::DT_TEXTREL, 0)), ..Parts::default() }).contains("code"));
    assert!(problem(Parts { with: Some((elf::DT_INIT_ARRAY, 0)), ..Parts::default() }).contains("constructors"));
    // Without this table the symbols cannot be counted, so the check ends there.
    let found = problems(&Parts { without: &[elf::DT_HASH], ..Parts::default() });
    assert!(found.iter().all(|text| text.contains("DT_HASH")) && !found.is_empty(), "{found:?}");
}

#[test]
fn relocations() {
    for kind in RELOCATIONS {
        assert_eq!(problems(&Parts { relocation: kind, ..Parts::default() }), [""; 0]);
    }
    assert!(problem(Parts { relocation: 6, ..Parts::default() }).contains("type 6"));
    assert!(problem(Parts { relocated: CODE_AT as u32, ..Parts::default() }).contains("not writable"));
    assert!(problem(Parts { relocated: 0x10_0000, ..Parts::default() }).contains("not writable"));
}

#[test]
fn symbols() {
    assert!(problem(Parts { import: ("fopen", GLOBAL), ..Parts::default() }).contains("fopen"));
    assert!(problem(Parts { import: ("HAP_debug_v2", GLOBAL), ..Parts::default() }).contains("weak"));
    let tls = GLOBAL | elf::STT_TLS;
    assert!(problem(Parts { import: ("memcpy", tls), ..Parts::default() }).contains("thread-local"));
    assert!(problem(Parts { uri: "file:///libggml-htp-v75.so?x", ..Parts::default() }).contains("_uri"));
}

#[test]
fn damaged_files_are_reported() {
    let good = build(&Parts::default());
    let imports = Imports::parse("memcpy\n").expect("a list");
    for bytes in 0..DYNAMIC_AT {
        assert!(!check(&good[..bytes], "libggml-htp-v73.so", 73, &imports).problems.is_empty(), "{bytes} bytes");
    }
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0xff;
        check(&bad, "libggml-htp-v73.so", 73, &imports); // no panic
    }
}
