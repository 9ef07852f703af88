//! The table of driver functions.

use std::ffi::{c_void, CStr};
use std::ops::Deref;
use std::path::Path;

use crate::bindings::*;
use crate::library::{self, Library};

/// Why there is no table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// No driver library could be loaded.
    #[error("no driver library could be loaded: {}", reasons(tried))]
    NotFound {
        /// Name and reason of each library that was tried.
        tried: Vec<(String, String)>,
    },
    /// A library was loaded, but is not the driver or is too old.
    #[error("driver library {library} has no function {symbol}")]
    MissingSymbol {
        /// The library.
        library: String,
        /// The function that it lacks.
        symbol: &'static str,
    },
}

fn reasons(tried: &[(String, String)]) -> String {
    let reasons: Vec<String> = tried
        .iter()
        // the loader's text often begins with the name
        .map(|(name, reason)| if reason.contains(name) { reason.clone() } else { format!("{name}: {reason}") })
        .collect();
    reasons.join("; ")
}

/// A function pointer type without the `Option` that bindgen puts around it.
pub trait Nullable {
    /// The pointer, never null.
    type Pointer;
}

impl<T> Nullable for Option<T> {
    type Pointer = T;
}

macro_rules! functions {
    (
        required { $($required:ident: $required_type:ident,)* }
        optional { $($optional:ident: $optional_type:ident,)* }
    ) => {
        /// The driver's functions, with the names and signatures of `include/hexagon_driver.h`. The optional ones are
        /// missing in old drivers.
        #[derive(Clone, Copy)]
        pub struct Functions {
            $(
                #[doc = concat!("`", stringify!($required), "`")]
                pub $required: <$required_type as Nullable>::Pointer,
            )*
            $(
                #[doc = concat!("`", stringify!($optional), "`, where the driver has it")]
                pub $optional: $optional_type,
            )*
        }

        impl Functions {
            /// Looks all functions up by name; `symbol` returns null for a name that it does not know.
            ///
            /// # Safety
            /// A pointer returned for a name points to a function that has the signature of the field of that name.
            unsafe fn resolve(
                library: &str,
                symbol: impl Fn(&'static CStr) -> *mut c_void,
            ) -> Result<Functions, LoadError> {
                Ok(Functions {
                    $(
                        // SAFETY: by this function's contract; null becomes None.
                        $required: unsafe {
                            std::mem::transmute::<*mut c_void, $required_type>(symbol(c_name!($required)))
                        }
                        .ok_or_else(|| LoadError::MissingSymbol {
                            library: library.to_owned(),
                            symbol: stringify!($required),
                        })?,
                    )*
                    $(
                        // SAFETY: as above.
                        $optional: unsafe {
                            std::mem::transmute::<*mut c_void, $optional_type>(symbol(c_name!($optional)))
                        },
                    )*
                })
            }
        }
    };
}

/// A name as a C string constant.
macro_rules! c_name {
    ($name:ident) => {
        const {
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("an identifier has no NUL"),
            }
        }
    };
}

functions! {
    required {
        rpcmem_alloc: rpcmem_alloc_fn,
        rpcmem_free: rpcmem_free_fn,
        rpcmem_to_fd: rpcmem_to_fd_fn,
        fastrpc_mmap: fastrpc_mmap_fn,
        fastrpc_munmap: fastrpc_munmap_fn,
        remote_handle64_open: remote_handle64_open_fn,
        remote_handle64_invoke: remote_handle64_invoke_fn,
        remote_handle64_close: remote_handle64_close_fn,
        remote_session_control: remote_session_control_fn,
        dspqueue_create: dspqueue_create_fn,
        dspqueue_close: dspqueue_close_fn,
        dspqueue_export: dspqueue_export_fn,
        dspqueue_write: dspqueue_write_fn,
        dspqueue_read: dspqueue_read_fn,
    }
    optional {
        rpcmem_alloc2: rpcmem_alloc2_fn,
        remote_handle_control: remote_handle_control_fn,
        remote_handle64_control: remote_handle64_control_fn,
        remote_system_request: remote_system_request_fn,
        dspqueue_read_noblock: dspqueue_read_noblock_fn,
    }
}

/// A driver: its functions, as fields, and the library that they are in, which stays loaded as long as this lives.
pub struct FastRpc {
    functions: Functions,
    name: String,
    /// Only held: the functions are in it.
    _library: Option<Library>,
}

impl FastRpc {
    /// Loads the driver library `path`, and no other; without a path, the system's.
    ///
    /// A path without a folder is searched as the system's loader searches names.
    ///
    /// # Errors
    /// No library could be loaded, or the one that was lacks a required function.
    pub fn load(path: Option<&Path>) -> Result<FastRpc, LoadError> {
        let candidates = path.map_or_else(library::system_drivers, |path| vec![path.to_owned()]);
        let mut tried = Vec::new();
        for candidate in candidates {
            let name = candidate.display().to_string();
            match Library::open(&candidate) {
                Ok(library) => {
                    // SAFETY: the library is the driver, or stands in for it: it exports these names as the C functions
                    // that hexagon_driver.h declares. Nothing can check that; the user who names a library vouches.
                    let functions = unsafe { Functions::resolve(&name, |symbol| library.symbol(symbol)) }?;
                    return Ok(FastRpc { functions, name, _library: Some(library) });
                }
                Err(reason) => tried.push((name, reason)),
            }
        }
        Err(LoadError::NotFound { tried })
    }

    /// A driver made of functions of this program.
    pub fn from_functions(functions: Functions) -> FastRpc {
        FastRpc { functions, name: "functions of this program".to_owned(), _library: None }
    }

    /// The library's name or path, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Deref for FastRpc {
    type Target = Functions;

    fn deref(&self) -> &Functions {
        &self.functions
    }
}
