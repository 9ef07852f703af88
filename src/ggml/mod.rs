//! The ggml side: thin C-ABI shims, one vtable a file, each function behind the panic guard.
//!
//! [`tensor`] is the only place that dereferences a `ggml_tensor`; nothing outside this module names a vtable.

/// Whether two slots of a vtable hold the same function: how an object of ours is told from another backend's. One
/// static holds each vtable, so the address is the same wherever it is read.
macro_rules! same_function {
    ($a:expr, $b:expr) => {
        matches!(($a, $b), (Some(a), Some(b)) if std::ptr::fn_addr_eq(a, b))
    };
}

pub mod backend;
pub mod base;
pub mod bindings;
pub mod buffer;
pub mod buffer_type;
pub mod device;
pub mod guard;
pub mod log;
pub mod profile;
pub mod registry;
pub mod storage;
pub mod tensor;
