//! What goes wrong between host and DSP. The only place that turns driver codes (`AEE_*`) and DSP statuses
//! (`htp_status`) into text: each error says the number, the call, and what the user can do.

use std::fmt;
use std::time::Duration;

use hexagon_sdk_sys as sys;

use crate::batch::wire;

/// An error of a device or session.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The driver library could not be loaded.
    #[error(
        "{0}. Is this a device with a Hexagon DSP, and may this program load its driver? GGML_HEXAGON_DRIVER names another \
         library; an Android app declares libcdsprpc.so with <uses-native-library> in its manifest"
    )]
    Driver(#[from] sys::LoadError),

    /// A driver function returned an error code.
    #[error("{call} {subject} failed with {} ({}): {}", Code(*code), aee_text(*code), remedy(*code, call))]
    Call {
        /// The function, with the request where it has several.
        call: &'static str,
        /// What it was called for: "for HTP0", "of 4096 bytes for HTP1".
        subject: String,
        /// What it returned.
        code: i32,
    },

    /// The driver has no shared memory left.
    #[error(
        "{call} returned no memory for {bytes} bytes: close other programs, use a smaller model or context, or keep some \
         layers on the CPU (-ngl)"
    )]
    OutOfMemory {
        /// The function.
        call: &'static str,
        /// Bytes asked for.
        bytes: usize,
    },

    /// The driver is too old for a buffer of this size.
    #[error(
        "this driver cannot allocate {bytes} bytes in one piece (it has no rpcmem_alloc2): update the device's software or \
         set GGML_HEXAGON_MBUF to less than 2047"
    )]
    TooLarge {
        /// Bytes asked for.
        bytes: usize,
    },

    /// Shared memory without a file descriptor cannot be given to the DSP.
    #[error("rpcmem_to_fd returned {fd} for new memory: the driver does not work as it should; restart the device")]
    NoDescriptor {
        /// What it returned.
        fd: i32,
    },

    /// The driver does not say what the DSP is.
    #[error(
        "the architecture of the DSP is not known ({reason}): set GGML_HEXAGON_ARCH to it, for example v73 (Snapdragon 8 Gen \
         2, X Elite), v75 (8 Gen 3), v79 (8 Elite), v81 (8 Elite Gen 5)"
    )]
    UnknownArch {
        /// Why.
        reason: String,
    },

    /// There is no DSP that could run the kernels.
    #[error("the DSP cannot be used: {reason}; computing on the CPU")]
    Unusable {
        /// What it lacks.
        reason: &'static str,
    },

    /// The DSP library is of another version than this one.
    #[error(
        "libggml-htp-v{arch}.so speaks version {found} of the wire format, this library version {expected}: install both \
         from the same release"
    )]
    WireVersion {
        /// Architecture, for the library's name.
        arch: u32,
        /// Its version.
        found: u32,
        /// Ours.
        expected: u32,
    },

    /// The DSP ran a batch and reports that it failed.
    #[error("the DSP reports status {} ({status}), detail {detail}, after {ops_done} ops{}: {}", *status as u32,
            At(*op_index), status.remedy())]
    Batch {
        /// What it reports.
        status: HtpStatus,
        /// The op that failed, by its number in the batch.
        op_index: Option<u32>,
        /// Ops completed before it.
        ops_done: u32,
        /// A number that helps to find the cause.
        detail: u32,
    },

    /// No answer came.
    #[error(
        "no answer from the DSP within {} ms: it hangs or is very busy. The session is opened again for the next graph; if \
         the work takes that long, raise GGML_HEXAGON_TIMEOUT_MS (0 waits for ever)", .0.as_millis()
    )]
    TimedOut(Duration),

    /// An answer makes no sense.
    #[error(
        "the DSP's answer makes no sense ({0}): the session is opened again for the next graph. If it happens again, install \
         this library and libggml-htp-v*.so from the same release"
    )]
    Malformed(String),

    /// The caller's batch cannot be sent: a defect of this crate.
    #[error("a batch cannot be sent: {0}; please report it")]
    BadRequest(&'static str),
}

impl Error {
    /// The op that failed, by its number in the batch.
    pub fn failed_op(&self) -> Option<usize> {
        match self {
            Error::Batch { op_index, .. } => op_index.and_then(|index| usize::try_from(index).ok()),
            _ => None,
        }
    }
}

/// Where a batch failed, as part of a sentence.
struct At(Option<u32>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(index) => write!(f, ", at op {index}"),
            None => Ok(()),
        }
    }
}

/// A driver code as it is written in documentation: in hexadecimal, except the small negative ones.
struct Code(i32);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            small @ -1024..=-1 => write!(f, "{small}"),
            code => write!(f, "{code:#04x}"),
        }
    }
}

/// Text of codes that have none of their own.
const UNKNOWN: &str = "a code without a name";

/// Codes that the driver returns as they are and the DSP with [`sys::DSP_AEE_OFFSET`] added, without that.
const fn base(code: i32) -> u32 {
    let code = code as u32;
    match code.checked_sub(sys::DSP_AEE_OFFSET) {
        Some(base) if base < 0x400 => base,
        _ => code,
    }
}

/// What a driver code means.
pub fn aee_text(code: i32) -> &'static str {
    match base(code) {
        0x00 => "success",
        0x01 => "general failure",
        0x02 => "out of memory",
        0x03 => "the class is not supported",
        0x04 => "the version is not supported",
        0x05 => "already loaded",
        0x06 => "the DSP could not load the library",
        0x0c => "time-out",
        0x0d => "bad state",
        0x0e => "bad parameter",
        0x10 => "bad item or value out of range",
        0x14 => "not supported",
        0x15 => "not enough privileges",
        0x16 => "not found",
        0x1a => "already done",
        0x27 => "no such name",
        0x2b => "not allowed",
        0x2c => "no such handle",
        0x2d => "out of handles",
        0x2e => "interrupted: the DSP process died",
        0x37 | 0x38 | 0x81 | 0x82 => "the library's signature is missing or wrong",
        0x3b | 0x57 => "the device node cannot be opened",
        0x42 => "no such symbol",
        0x43 => "no such device",
        0x48 => "the memory is not mapped",
        0x4d => "bad size",
        0x52 => "the library is damaged or for another architecture",
        0x65 | 0x66 => "the memory cannot be mapped",
        0x67 => "shared memory cannot be allocated",
        0x68 => "connection reset, or shared memory cannot be allocated",
        0x6c => "not supported",
        0x72 => "connection refused",
        0x8a => "no session is free",
        0x14f => "bad address space id",
        0x200 => "error in the driver",
        0x204 => "nothing to read",
        u32::MAX => "unknown failure",
        _ => UNKNOWN,
    }
}

const PATH_REMEDY: &str =
    "put the library into a folder named in ADSP_LIBRARY_PATH (folders joined with ';', set before the program starts) and \
     check that it is for this DSP's architecture (GGML_HEXAGON_ARCH chooses another); on Windows it must be signed";
const RESTART_REMEDY: &str =
    "the session is opened again for the next graph; if it keeps dying, look for the cause in the \
                              DSP's log and report it with the model's name";
const UPDATE_REMEDY: &str = "the device's software is too old for this or does not offer it: update it";
const ACCESS_REMEDY: &str =
    "check that this user may read and write /dev/fastrpc-* (often a group or a udev rule) and that \
                             the service cdsprpcd runs";
const MEMORY_REMEDY: &str =
    "use a smaller model or context, keep some layers on the CPU (-ngl), or spread them over more \
                             sessions (GGML_HEXAGON_NDEV)";
const REPORT_REMEDY: &str = "please report it, with the log and the name of the device";

/// What the user can do about a code that `call` returned.
pub fn remedy(code: i32, call: &str) -> &'static str {
    let opening = call.starts_with("remote_handle64_open");
    match (base(code), call) {
        (0x01 | 0x06 | 0x16 | 0x27 | 0x42 | 0x52, _) if opening => PATH_REMEDY,
        (0x06 | 0x37 | 0x38 | 0x52 | 0x81 | 0x82, _) => PATH_REMEDY,
        (0x02 | 0x65..=0x68, _) => MEMORY_REMEDY,
        (0x01 | 0x0e, "fastrpc_mmap") => MEMORY_REMEDY,
        (0x04, "htp_iface_start") => "install this library and libggml-htp-v*.so from the same release",
        (0x0c, _) => "the DSP does not answer: other programs may keep it busy, else restart the device",
        (0x2e, _) => RESTART_REMEDY,
        (0x15 | 0x2b | 0x3b | 0x57 | 0x72, _) => ACCESS_REMEDY,
        (0x43, _) => "this device has no such DSP, or its driver is not running: check for /dev/fastrpc-cdsp",
        (0x8a | 0x2d, _) => "close other programs that use the DSP, or lower GGML_HEXAGON_NDEV",
        (0x03 | 0x04 | 0x14 | 0x6c, _) => UPDATE_REMEDY,
        (0x01 | 0x0e, "remote_session_control(FASTRPC_RESERVE_NEW_SESSION)") => {
            "the driver gives no further session: lower GGML_HEXAGON_NDEV or update the device's software"
        }
        (0x0d | 0x14f | 0x200, _) => {
            "the driver's session is broken: restart the program, and if that does not help the device"
        }
        _ => REPORT_REMEDY,
    }
}

macro_rules! statuses {
    ($($variant:ident = $number:ident, $text:literal, $remedy:expr;)*) => {
        /// Status of a batch, as the DSP reports it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u32)]
        pub enum HtpStatus {
            $(#[doc = $text] $variant = wire::$number,)*
        }

        impl TryFrom<u32> for HtpStatus {
            type Error = u32;

            /// # Errors
            /// The number, when no status has it.
            fn try_from(number: u32) -> Result<HtpStatus, u32> {
                match number {
                    $(wire::$number => Ok(HtpStatus::$variant),)*
                    other => Err(other),
                }
            }
        }

        impl fmt::Display for HtpStatus {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(HtpStatus::$variant => $text,)*
                })
            }
        }

        impl HtpStatus {
            /// What the user can do about it.
            pub fn remedy(self) -> &'static str {
                match self {
                    $(HtpStatus::$variant => $remedy,)*
                }
            }
        }

        #[cfg(test)]
        const STATUSES: &[(u32, &str, HtpStatus)] =
            &[$((wire::$number, stringify!($number), HtpStatus::$variant),)*];
    };
}

const RELEASE_REMEDY: &str =
    "check that this library and libggml-htp-v*.so are from the same release; if they are, please report it";

statuses! {
    Ok = HTP_STATUS_OK, "success", "nothing to do";
    BadPacket = HTP_STATUS_BAD_PACKET, "the queue packet has a wrong size, magic number or version", RELEASE_REMEDY;
    BadBatch = HTP_STATUS_BAD_BATCH, "the batch header or one of its tables does not fit the command buffer",
        RELEASE_REMEDY;
    BadBuffer = HTP_STATUS_BAD_BUFFER, "a buffer is not mapped or smaller than said", RELEASE_REMEDY;
    BadTensor = HTP_STATUS_BAD_TENSOR, "a tensor has a wrong type, shape or reaches beyond its buffer", RELEASE_REMEDY;
    BadOp = HTP_STATUS_BAD_OP, "an op names a tensor that does not exist, or its arguments do not fit", RELEASE_REMEDY;
    Unsupported = HTP_STATUS_UNSUPPORTED, "this DSP library does not know the op, or not for these tensors",
        RELEASE_REMEDY;
    NoVtcm = HTP_STATUS_NO_VTCM, "the op needs more VTCM than the session holds",
        "close other programs that use the DSP; if there are none, please report it with the model's name";
    NoMemory = HTP_STATUS_NO_MEMORY, "out of DSP memory", MEMORY_REMEDY;
    Internal = HTP_STATUS_INTERNAL, "internal error", REPORT_REMEDY;
    BadIndex = HTP_STATUS_BAD_INDEX, "an index in the data is out of range",
        "the graph's input holds an index (a token, a row) that its tensor does not have: check the program's input";
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: &str = "remote_handle64_open";

    /// Codes that users have met, and all that the header names.
    const CODES: [u32; 21] = [
        sys::AEE_EFAILED,
        sys::AEE_ENOMEMORY,
        sys::AEE_EEXPIRED,
        sys::AEE_EBADSTATE,
        sys::AEE_EBADPARM,
        sys::AEE_EBADITEM,
        sys::AEE_EUNSUPPORTED,
        sys::AEE_EINTERRUPTED,
        sys::AEE_ENOSUCHDEVICE,
        sys::AEE_ENOSUCHMAP,
        sys::AEE_ECONNREFUSED,
        sys::AEE_EWOULDBLOCK,
        sys::DSP_AEE_EUNABLETOLOAD,
        sys::DSP_AEE_EBADPARM,
        sys::DSP_AEE_EUNSUPPORTED,
        sys::DSP_AEE_ENOSUCH,
        0x8000_0401,
        0x8000_0402,
        0x8000_040d,
        0x8000_054f,
        0x6c,
    ];

    fn call_error(call: &'static str, code: u32) -> String {
        Error::Call { call, subject: "for HTP0".into(), code: code as i32 }.to_string()
    }

    #[test]
    fn every_code_has_text_and_remedy() {
        for code in CODES {
            assert_ne!(aee_text(code as i32), UNKNOWN, "{code:#x}");
            for call in [OPEN, "fastrpc_mmap", "dspqueue_write"] {
                let text = call_error(call, code);
                assert!(text.contains(call) && text.contains(&format!("{code:#04x}")), "{text}");
                assert!(!remedy(code as i32, call).is_empty());
            }
        }
        assert_eq!(aee_text(0x7777), UNKNOWN);
        assert!(call_error(OPEN, 0x7777).contains("0x7777"));
    }

    #[test]
    fn codes_that_users_can_repair_say_how() {
        for (call, code, advice) in [
            (OPEN, 0x8000_0406, "ADSP_LIBRARY_PATH"),
            (OPEN, 0x8000_0416, "ADSP_LIBRARY_PATH"),
            (OPEN, 0x72, "/dev/fastrpc-*"),
            (OPEN, 0x43, "/dev/fastrpc-cdsp"),
            (OPEN, 0x8000_0414, "update"),
            (OPEN, 0x14, "update"),
            (OPEN, 0x0d, "restart"),
            (OPEN, 0x8000_054f, "restart"),
            ("dspqueue_read", 0x0c, "busy"),
            ("dspqueue_read", 0x2e, "opened again"),
            ("fastrpc_mmap", 0x02, "-ngl"),
            ("fastrpc_mmap", 0x0e, "-ngl"),
            ("remote_session_control(FASTRPC_RESERVE_NEW_SESSION)", 0x0e, "GGML_HEXAGON_NDEV"),
            ("htp_iface_start", 0x8000_0404, "same release"),
        ] {
            let text = call_error(call, code);
            assert!(text.contains(advice), "{text}");
        }
    }

    #[test]
    fn the_dsp_reports_the_drivers_codes_with_an_offset() {
        assert_eq!(base(0x8000_0406_u32 as i32), 0x06);
        assert_eq!(base(0x8000_0800_u32 as i32), 0x8000_0800);
        assert_eq!(aee_text(0x8000_0414_u32 as i32), aee_text(0x14));
        assert_eq!(Code(-1).to_string(), "-1");
        assert_eq!(Code(0x0c).to_string(), "0x0c");
        assert_eq!(Code(0x8000_0406_u32 as i32).to_string(), "0x80000406");
    }

    /// `X(2, BAD_BATCH, "text")` lines of the header.
    fn statuses_of_the_header() -> Vec<(u32, String, String)> {
        let header = include_str!("../include/htp/status.h");
        let line = |line: &str| {
            let (number, rest) = line.trim_start().strip_prefix("X(")?.split_once(',')?;
            let (name, rest) = rest.split_once(',')?;
            let text = rest.trim().strip_prefix('"')?.split_once('"')?.0;
            Some((number.parse().ok()?, name.trim().to_owned(), text.to_owned()))
        };
        header.lines().filter_map(line).collect()
    }

    #[test]
    fn statuses_are_those_of_the_header() {
        let header = statuses_of_the_header();
        assert_eq!(header.len(), STATUSES.len());
        for (number, name, text) in header {
            let status = HtpStatus::try_from(number).expect("a number of the header");
            assert_eq!(status as u32, number);
            assert_eq!(status.to_string(), text);
            assert!(STATUSES.contains(&(number, &format!("HTP_STATUS_{name}"), status)), "{number} {name}");
        }
        assert_eq!(HtpStatus::try_from(STATUSES.len() as u32), Err(STATUSES.len() as u32));
    }

    #[test]
    fn a_failed_batch_tells_where_and_what() {
        let error = Error::Batch { status: HtpStatus::NoVtcm, op_index: Some(3), ops_done: 3, detail: 4711 };
        assert_eq!(error.failed_op(), Some(3));
        let text = error.to_string();
        assert!(text.contains("status 7") && text.contains("at op 3") && text.contains("4711"), "{text}");
        let error = Error::Batch { status: HtpStatus::BadBatch, op_index: None, ops_done: 0, detail: 0 };
        assert!(error.failed_op().is_none() && !error.to_string().contains("at op"));
    }

    #[test]
    fn a_missing_driver_says_what_was_tried() {
        let tried = vec![("libcdsprpc.so".to_owned(), "no such file".to_owned())];
        let text = Error::from(sys::LoadError::NotFound { tried }).to_string();
        for part in ["libcdsprpc.so: no such file", "GGML_HEXAGON_DRIVER", "uses-native-library"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
