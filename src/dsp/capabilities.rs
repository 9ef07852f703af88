//! What the driver says about the DSP. There is no list of known chips: everything is asked.

use std::ffi::c_void;

use hexagon_sdk_sys::{self as sys, FastRpc};

use super::check;
use crate::config::Config;
use crate::error::Error;

/// What the DSP can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Architecture: 68, 69, 73, 75, 79, 81, ... It chooses the DSP library.
    pub arch: u32,
    /// Whether it has HVX with 128-byte vectors, or does not say.
    pub hvx: bool,
    /// Whether it has a matrix unit; the DSP library has the last word.
    pub hmx: bool,
    /// Bytes of vector memory in all, 0 when it does not say.
    pub vtcm_bytes: u64,
    /// Whether libraries without a signature may run, or it does not say.
    pub unsigned_pd: bool,
}

impl Capabilities {
    /// Asks the driver. `GGML_HEXAGON_ARCH` overrides the architecture, and is needed where the driver does not tell.
    ///
    /// # Errors
    /// There is no compute DSP or no HVX, or the architecture is not known.
    pub fn query(rpc: &FastRpc, config: &Config) -> Result<Capabilities, Error> {
        // an attribute that an old driver does not know is no proof that the DSP lacks it
        let lacks = |attribute| matches!(ask(rpc, attribute), Ok(0));
        let number = |attribute| ask(rpc, attribute).map_or(0, u64::from);
        if lacks(sys::DSP_ATTR_DOMAIN_SUPPORT) {
            return Err(Error::Unusable { reason: "this device has no compute DSP (CDSP)" });
        }
        if lacks(sys::DSP_ATTR_HVX_SUPPORT_128B) {
            return Err(Error::Unusable { reason: "it has no HVX vector unit" });
        }
        let arch = match config.arch {
            Some(arch) => arch,
            None => architecture(ask(rpc, sys::DSP_ATTR_ARCH_VER))?,
        };
        let capabilities = Capabilities {
            arch,
            hvx: true,
            hmx: number(sys::DSP_ATTR_HMX_SUPPORT_DEPTH) > 0,
            vtcm_bytes: number(sys::DSP_ATTR_VTCM_PAGE) * number(sys::DSP_ATTR_VTCM_COUNT),
            unsigned_pd: !lacks(sys::DSP_ATTR_UNSIGNED_PD_SUPPORT),
        };
        log::debug!("driver {}: {capabilities:?}", rpc.name());
        Ok(capabilities)
    }
}

/// The value of a `DSP_ATTR_*` of the compute DSP.
fn ask(rpc: &FastRpc, attribute: u32) -> Result<u32, Error> {
    const CALL: &str = "remote_handle_control(DSPRPC_GET_DSP_INFO)";
    let subject = || format!("for attribute {attribute}");
    let unsupported = sys::AEE_EUNSUPPORTED as i32;
    let control =
        rpc.remote_handle_control.ok_or_else(|| Error::Call { call: CALL, subject: subject(), code: unsupported })?;
    let mut question =
        sys::remote_dsp_capability { domain: sys::CDSP_DOMAIN_ID, attribute_ID: attribute, capability: 0 };
    let data: *mut c_void = (&raw mut question).cast();
    // SAFETY: the request's argument is this structure, of this size, and it is written during the call only.
    let code = unsafe { control(sys::DSPRPC_GET_DSP_INFO, data, size_of_val(&question) as u32) };
    check(CALL, code, subject)?;
    Ok(question.capability)
}

/// The architecture as a number, from the driver's answer: its low byte, whose hexadecimal digits are the name's.
fn architecture(answer: Result<u32, Error>) -> Result<u32, Error> {
    let answer = answer.map_err(|error| Error::UnknownArch { reason: error.to_string() })?;
    let (tens, ones) = (answer >> 4 & 0xf, answer & 0xf);
    if (1..=9).contains(&tens) && ones <= 9 {
        Ok(10 * tens + ones)
    } else {
        Err(Error::UnknownArch { reason: format!("the driver's answer {answer:#x} is no architecture") })
    }
}

#[cfg(test)]
mod tests {
    use super::architecture;

    #[test]
    fn the_low_byte_spells_the_architecture() {
        for (answer, arch) in [(0x68, 68), (0x73, 73), (0x8079, 79), (0x1281, 81)] {
            assert_eq!(architecture(Ok(answer)).ok(), Some(arch), "{answer:#x}");
        }
        for answer in [0, 0x7f, 0xa1, 0x05] {
            let text = architecture(Ok(answer)).expect_err("no architecture").to_string();
            assert!(text.contains(&format!("{answer:#x}")) && text.contains("GGML_HEXAGON_ARCH"), "{text}");
        }
    }
}
