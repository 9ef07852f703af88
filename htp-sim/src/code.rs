//! Result codes (`AEEResult`) that the driver returns.

use crate::sys;

/// A code other than success. On the C side it is the `int` that a function returns.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub i32);

/// What a driver function returns inside this crate.
pub type Result<T> = std::result::Result<T, Code>;

/// The header's constants are unsigned, C returns `int`: same bits.
const fn code(value: u32) -> Code {
    Code(value as i32)
}

impl Code {
    /// Something broke inside the driver.
    pub const FAILED: Code = code(sys::AEE_EFAILED);
    /// No memory, a limit is reached, or a message is too large to send.
    pub const NO_MEMORY: Code = code(sys::AEE_ENOMEMORY);
    /// The session is open and its kind cannot be changed any more.
    pub const ALREADY_LOADED: Code = code(0x05);
    /// Time-out.
    pub const EXPIRED: Code = code(sys::AEE_EEXPIRED);
    /// Not possible in this state.
    pub const BAD_STATE: Code = code(sys::AEE_EBADSTATE);
    /// A null pointer, wrong length or value out of range.
    pub const BAD_PARM: Code = code(sys::AEE_EBADPARM);
    /// The request is not known.
    pub const UNSUPPORTED: Code = code(sys::AEE_EUNSUPPORTED);
    /// The buffer is mapped already.
    pub const ALREADY: Code = code(0x1a);
    /// No such remote handle.
    pub const BAD_HANDLE: Code = code(0x2c);
    /// The DSP process died.
    pub const INTERRUPTED: Code = code(sys::AEE_EINTERRUPTED);
    /// This machine has no such DSP.
    pub const NO_SUCH_DEVICE: Code = code(sys::AEE_ENOSUCHDEVICE);
    /// The buffer is not mapped.
    pub const NO_SUCH_MAP: Code = code(sys::AEE_ENOSUCHMAP);
    /// The caller's text buffer is too small.
    pub const BAD_SIZE: Code = code(0x4d);
    /// The driver does not let the caller in.
    pub const CONNECTION_REFUSED: Code = code(sys::AEE_ECONNREFUSED);
    /// All sessions of the DSP are reserved.
    pub const NO_SESSION: Code = code(0x8a);
    /// Nothing to read now.
    pub const WOULD_BLOCK: Code = code(sys::AEE_EWOULDBLOCK);
    /// The DSP cannot load the library.
    pub const UNABLE_TO_LOAD: Code = code(sys::DSP_AEE_EUNABLETOLOAD);
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AEE {:#x}", self.0)
    }
}

/// The C form of a result.
pub fn to_c(result: Result<()>) -> i32 {
    match result {
        Ok(()) => sys::AEE_SUCCESS as i32,
        Err(code) => code.0,
    }
}

/// The Rust form of a C result.
pub fn from_c(value: i32) -> Result<()> {
    if value == sys::AEE_SUCCESS as i32 {
        Ok(())
    } else {
        Err(Code(value))
    }
}
