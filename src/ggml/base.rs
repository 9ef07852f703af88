//! The few functions of `libggml-base` that the plug-in calls, found at run time.
//!
//! The library that loads the plug-in already has ggml in the process: linked to it, or opened with `RTLD_LOCAL` (as
//! Python and Node do), under the name `libggml-base.so.0` or, on Android, `libggml-base.so`. A link-time dependency
//! would have to name one of these; looking the functions up serves all of them, and needs no ggml to build.

use std::ffi::{c_char, c_int, c_void, CStr};
use std::sync::OnceLock;

use super::bindings::*;

/// The name of a C function.
macro_rules! name {
    ($symbol:ident) => {{
        const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($symbol), "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => panic!("a name without zero bytes"),
        };
        NAME
    }};
}

macro_rules! functions {
    (
        required { $($field:ident = $symbol:ident: $kind:ty;)* }
        optional { $($extra:ident = $extra_symbol:ident: $extra_kind:ty;)* }
    ) => {
        /// Functions of `libggml-base`.
        pub struct Base {
            $(#[doc = concat!("`", stringify!($symbol), "`")] pub $field: $kind,)*
            $(#[doc = concat!("`", stringify!($extra_symbol), "`, if there is one")] pub $extra: Option<$extra_kind>,)*
        }

        impl Base {
            fn from_library(library: &Library) -> Result<Base, String> {
                Ok(Base {
                    $($extra: {
                        let symbol = library.symbol(name!($extra_symbol));
                        // SAFETY: not null, and a ggml that check_abi() lets pass has this function with this type.
                        (!symbol.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, $extra_kind>(symbol) })
                    },)*
                    $($field: {
                        let symbol = library.symbol(name!($symbol));
                        if symbol.is_null() {
                            return Err(format!("libggml-base has no function {}", stringify!($symbol)));
                        }
                        // SAFETY: not null, and ggml's C API gives the function of this name this type; check_abi()
                        // refuses a ggml whose types may be others.
                        unsafe { std::mem::transmute::<*mut c_void, $kind>(symbol) }
                    },)*
                })
            }
        }
    };
}

functions! {
    required {
        buffer_init = ggml_backend_buffer_init:
            unsafe extern "C" fn(
                ggml_backend_buffer_type_t,
                ggml_backend_buffer_i,
                *mut c_void,
                usize,
            ) -> ggml_backend_buffer_t;
        log = ggml_log_internal: unsafe extern "C" fn(ggml_log_level, *const c_char, ...);
        nbytes = ggml_nbytes: unsafe extern "C" fn(*const ggml_tensor) -> usize;
        graph_n_nodes = ggml_graph_n_nodes: unsafe extern "C" fn(*mut ggml_cgraph) -> c_int;
        graph_nodes = ggml_graph_nodes: unsafe extern "C" fn(*mut ggml_cgraph) -> *mut *mut ggml_tensor;
        version = ggml_version: unsafe extern "C" fn() -> *const c_char;
        op_name = ggml_op_name: unsafe extern "C" fn(ggml_op) -> *const c_char;
        type_name = ggml_type_name: unsafe extern "C" fn(ggml_type) -> *const c_char;
    }
    optional {
        // Not in ggml's public headers, but exported for its backends.
        can_fuse = ggml_can_fuse_subgraph_ext:
            unsafe extern "C" fn(
                *const ggml_cgraph,
                *const c_int,
                c_int,
                *const ggml_op,
                *const c_int,
                c_int,
            ) -> bool;
    }
}

static BASE: OnceLock<Result<Base, String>> = OnceLock::new();

/// The functions of the ggml in this process; an error text when there is none.
pub fn base() -> Result<&'static Base, &'static str> {
    BASE.get_or_init(Base::find).as_ref().map_err(String::as_str)
}

impl Base {
    fn find() -> Result<Base, String> {
        let library = Library::containing(c"ggml_backend_buffer_init")
            .ok_or("no ggml library (libggml-base) is loaded in this process")?;
        Base::from_library(&library)
    }

    /// Compares the ggml in this process with the one that the bindings describe.
    ///
    /// # Errors
    /// One line that says what differs.
    pub fn check_abi(&self) -> Result<(), String> {
        // SAFETY: `ggml_version` takes no arguments and returns a string constant.
        let version = unsafe { text((self.version)()) };
        // SAFETY: the number is below the COUNT of every ggml that has passed the version check, and the function
        // returns a string constant.
        let op_name = |op| unsafe { text((self.op_name)(op)) };
        // SAFETY: as for ops.
        let type_name = |kind| unsafe { text((self.type_name)(kind)) };
        abi_difference(&version, op_name, type_name).map_or(Ok(()), Err)
    }
}

/// What differs between a ggml (its version and its numbering) and the bindings; `None` when nothing does.
fn abi_difference(
    version: &str,
    op_name: impl Fn(ggml_op) -> String,
    type_name: impl Fn(ggml_type) -> String,
) -> Option<String> {
    if !SUPPORTED_VERSIONS.iter().any(|prefix| version.starts_with(prefix)) {
        let known: Vec<String> = SUPPORTED_VERSIONS.iter().map(|prefix| format!("{prefix}x")).collect();
        return Some(format!(
            "ggml {version} is not supported by this build of ggml-hexagon (it knows {}): use a plug-in built for it",
            known.join(", ")
        ));
    }
    let op = KNOWN_OPS.iter().map(|&(number, name)| ("op", number, name, op_name(number)));
    let kind = KNOWN_TYPES.iter().map(|&(number, name)| ("type", number, name, type_name(number)));
    op.chain(kind).find(|(_, _, expected, found)| expected != found).map(|(what, number, expected, found)| {
        format!("ggml {version} numbers its {what}s differently ({what} {number} is {found}, expected {expected})")
    })
}

/// # Safety
/// `pointer` is null or a NUL-terminated string.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::from("(null)");
    }
    // SAFETY: not null, and a string by this function's contract.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

use library::Library;

#[cfg(unix)]
mod library {
    use std::ffi::{c_void, CStr};

    /// Where symbols are looked up. Never closed: the plug-in uses ggml as long as it is loaded.
    pub struct Library(*mut c_void);

    impl Library {
        /// The library of this process that has `symbol`: in the global scope, or loaded under one of ggml's names.
        pub fn containing(symbol: &CStr) -> Option<Library> {
            const NAMES: [&CStr; 4] = [c"libggml-base.so.0", c"libggml-base.so", c"libggml-base.dylib", c"libggml.so"];
            let global = Library(libc::RTLD_DEFAULT);
            if !global.symbol(symbol).is_null() {
                return Some(global);
            }
            NAMES.iter().find_map(|name| {
                // SAFETY: a string constant; RTLD_NOLOAD only returns what is loaded already.
                let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
                let library = Library(handle);
                (!handle.is_null() && !library.symbol(symbol).is_null()).then_some(library)
            })
        }

        /// Address of `symbol`, null when there is none.
        pub fn symbol(&self, symbol: &CStr) -> *mut c_void {
            // SAFETY: the handle is RTLD_DEFAULT or came from dlopen and was not closed.
            unsafe { libc::dlsym(self.0, symbol.as_ptr()) }
        }
    }
}

#[cfg(windows)]
mod library {
    use std::ffi::{c_char, c_void, CStr};

    extern "system" {
        fn GetModuleHandleA(name: *const c_char) -> *mut c_void;
        fn GetProcAddress(module: *mut c_void, name: *const c_char) -> *mut c_void;
    }

    /// A module of this process. Never freed: the plug-in uses ggml as long as it is loaded.
    pub struct Library(*mut c_void);

    impl Library {
        /// The module of this process that has `symbol`.
        pub fn containing(symbol: &CStr) -> Option<Library> {
            const NAMES: [&CStr; 2] = [c"ggml-base.dll", c"libggml-base.dll"];
            NAMES.iter().find_map(|name| {
                // SAFETY: a string constant.
                let handle = unsafe { GetModuleHandleA(name.as_ptr()) };
                let library = Library(handle);
                (!handle.is_null() && !library.symbol(symbol).is_null()).then_some(library)
            })
        }

        /// Address of `symbol`, null when there is none.
        pub fn symbol(&self, symbol: &CStr) -> *mut c_void {
            // SAFETY: the handle is that of a loaded module.
            unsafe { GetProcAddress(self.0, symbol.as_ptr()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name<N: PartialEq + Copy>(table: &[(N, &str)], number: N) -> String {
        table.iter().find(|(n, _)| *n == number).map_or_else(String::new, |(_, name)| name.to_string())
    }

    #[test]
    fn the_known_ggml_is_accepted() {
        let difference = abi_difference("0.25.3", |op| name(KNOWN_OPS, op), |kind| name(KNOWN_TYPES, kind));
        assert_eq!(difference, None);
    }

    #[test]
    fn another_version_is_refused_by_name() {
        for version in ["0.9.8", "0.26.0", "1.0.25", "(null)", ""] {
            let difference = abi_difference(version, |op| name(KNOWN_OPS, op), |kind| name(KNOWN_TYPES, kind));
            let line = difference.expect("must be refused");
            assert!(line.contains(version) && line.contains("0.25.x") && !line.contains('\n'), "{line}");
        }
    }

    #[test]
    fn other_numbers_are_refused() {
        let shifted = |op: ggml_op| name(KNOWN_OPS, op + 1);
        assert!(abi_difference("0.25.3", shifted, |kind| name(KNOWN_TYPES, kind)).is_some());
        let shifted = |kind: ggml_type| name(KNOWN_TYPES, kind + 1);
        assert!(abi_difference("0.25.3", |op| name(KNOWN_OPS, op), shifted).is_some());
    }
}
