//! What a host asks before and beside its calls: which DSPs there are, what they can do, which sessions are free, and
//! how a session is named in a URI.

use crate::code::{Code, Result};
use crate::settings::Settings;
use crate::sys;

/// Domains of a device: a session's effective domain id is `domain + DOMAINS * session`.
const DOMAINS: i32 = 8;

/// Sessions of the DSP, the default session 0 included. Devices have 4 to 16.
pub const SESSIONS: u32 = 16;

/// The only DSP that this device has.
const CDSP: i32 = sys::CDSP_DOMAIN_ID as i32;
const CDSP_NAME: &str = "cdsp";
/// Names of DSPs that other devices have.
const OTHER_NAMES: [&str; 6] = ["adsp", "mdsp", "sdsp", "cdsp1", "gdsp0", "gdsp1"];

const VTCM_BYTES: u32 = 8 << 20;
const FIRST_HMX_ARCH: u32 = 73;
/// Devices report a revision above the architecture's byte. A host that does not mask it is found out here.
const ARCH_REVISION: u32 = 0x8000;

/// The effective domain id of a session of the CDSP.
pub fn effective_domain(session: u32) -> Result<i32> {
    if session >= SESSIONS {
        return Err(Code::NO_SESSION);
    }
    Ok(CDSP + DOMAINS * session as i32)
}

/// Whether an effective domain id belongs to a session of the CDSP, reserved or not.
pub fn is_cdsp(domain: i32) -> bool {
    (0..SESSIONS).any(|session| effective_domain(session) == Ok(domain))
}

/// Checks the name of a DSP as a host writes it.
pub fn check_domain_name(name: &str) -> Result<()> {
    match name {
        CDSP_NAME => Ok(()),
        name if OTHER_NAMES.contains(&name) => Err(Code::NO_SUCH_DEVICE),
        _ => Err(Code::BAD_PARM),
    }
}

/// A module's URI with the session's suffix.
pub fn session_uri(module_uri: &str, session: u32) -> String {
    format!("{module_uri}&_dom={CDSP_NAME}&_session={session}")
}

/// What a URI says about the library to load.
#[derive(Debug, PartialEq, Eq)]
pub struct ModuleUri<'a> {
    /// File name of the library.
    pub library: &'a str,
    /// Its entry point.
    pub entry: &'a str,
    /// Session of the CDSP; 0 where the URI names none.
    pub session: u32,
}

impl<'a> ModuleUri<'a> {
    /// Reads `file:///<library>?<entry>&_modver=1.0&_dom=cdsp[&_session=<n>]`.
    pub fn parse(uri: &'a str) -> Result<Self> {
        let module = uri.strip_prefix("file:///").ok_or(Code::BAD_PARM)?;
        let (path, query) = module.split_once('?').ok_or(Code::BAD_PARM)?;
        let library = path.rsplit('/').next().unwrap_or(path);
        let mut fields = query.split('&');
        let entry = fields.next().unwrap_or_default();
        let (mut domain, mut session) = (None, 0);
        for field in fields {
            match field.split_once('=').ok_or(Code::BAD_PARM)? {
                ("_dom", name) => domain = Some(name),
                ("_session", number) => session = number.parse().map_err(|_| Code::BAD_PARM)?,
                ("_modver", "1.0") => {}
                _ => return Err(Code::BAD_PARM),
            }
        }
        // a URI without a domain means the ADSP, which this device does not have
        check_domain_name(domain.unwrap_or("adsp"))?;
        Ok(ModuleUri { library, entry, session })
    }

    /// Whether the simulated DSP can load that library.
    pub fn check_loadable(&self, arch: u32) -> Result<()> {
        if self.library == format!("libggml-htp-v{arch}.so") && self.entry == "htp_iface_skel_handle_invoke" {
            Ok(())
        } else {
            Err(Code::UNABLE_TO_LOAD)
        }
    }
}

/// The answer to `DSPRPC_GET_DSP_INFO`.
pub fn capability(settings: &Settings, domain: u32, attribute: u32) -> Result<u32> {
    let present = i32::try_from(domain).is_ok_and(is_cdsp);
    if attribute == sys::DSP_ATTR_DOMAIN_SUPPORT {
        return Ok(present.into());
    }
    if !present {
        return Err(Code::NO_SUCH_DEVICE);
    }
    Ok(match attribute {
        sys::DSP_ATTR_UNSIGNED_PD_SUPPORT | sys::DSP_ATTR_HVX_SUPPORT_128B => 1,
        sys::DSP_ATTR_VTCM_PAGE => VTCM_BYTES,
        sys::DSP_ATTR_VTCM_COUNT => 1,
        sys::DSP_ATTR_ARCH_VER => ARCH_REVISION | settings.arch_code(),
        sys::DSP_ATTR_HMX_SUPPORT_DEPTH => (settings.arch >= FIRST_HMX_ARCH).into(),
        _ => return Err(Code::UNSUPPORTED),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "file:///libggml-htp-v73.so?htp_iface_skel_handle_invoke&_modver=1.0";

    #[test]
    fn the_uri_of_a_session_is_understood() {
        for session in [0, 1, 15] {
            let uri = session_uri(MODULE, session);
            let module = ModuleUri::parse(&uri).unwrap();
            assert_eq!((module.library, module.session), ("libggml-htp-v73.so", session));
            assert_eq!(module.check_loadable(73), Ok(()));
            assert_eq!(module.check_loadable(75), Err(Code::UNABLE_TO_LOAD));
        }
        assert_eq!(ModuleUri::parse(&format!("{MODULE}&_dom=cdsp")).unwrap().session, 0);
    }

    #[test]
    fn other_uris_are_refused() {
        for (uri, code) in [
            (MODULE.to_owned(), Code::NO_SUCH_DEVICE),
            (format!("{MODULE}&_dom=adsp"), Code::NO_SUCH_DEVICE),
            (format!("{MODULE}&_dom=tpu"), Code::BAD_PARM),
            (format!("{MODULE}&_dom=cdsp&_session=x"), Code::BAD_PARM),
            (format!("{MODULE}&_dom"), Code::BAD_PARM),
            ("libggml-htp-v73.so".to_owned(), Code::BAD_PARM),
            ("file:///libggml-htp-v73.so".to_owned(), Code::BAD_PARM),
        ] {
            assert_eq!(ModuleUri::parse(&uri), Err(code), "{uri}");
        }
        for uri in ["file:///libother-v73.so?htp_iface_skel_handle_invoke", "file:///libggml-htp-v73.so?other"] {
            let uri = format!("{uri}&_dom=cdsp");
            assert_eq!(ModuleUri::parse(&uri).unwrap().check_loadable(73), Err(Code::UNABLE_TO_LOAD), "{uri}");
        }
    }

    #[test]
    fn sessions_have_domains_of_their_own() {
        let domains: std::collections::BTreeSet<_> = (0..SESSIONS).map(|n| effective_domain(n).unwrap()).collect();
        assert_eq!((domains.len(), domains.first()), (SESSIONS as usize, Some(&3)));
        assert_eq!(effective_domain(SESSIONS), Err(Code::NO_SESSION));
        assert!(is_cdsp(3) && is_cdsp(11) && !is_cdsp(0) && !is_cdsp(4) && !is_cdsp(-1));
    }

    #[test]
    fn capabilities_follow_the_architecture() {
        let settings = |arch| Settings { arch, ..Settings::default() };
        let ask = |arch, attribute| capability(&settings(arch), 3, attribute);
        assert_eq!(ask(73, sys::DSP_ATTR_ARCH_VER).unwrap() & 0xff, 0x73);
        assert_eq!(ask(81, sys::DSP_ATTR_ARCH_VER).unwrap() & 0xff, 0x81);
        assert_eq!(ask(73, sys::DSP_ATTR_HMX_SUPPORT_DEPTH), Ok(1));
        assert_eq!(ask(69, sys::DSP_ATTR_HMX_SUPPORT_DEPTH), Ok(0));
        assert_eq!(ask(73, sys::DSP_ATTR_VTCM_PAGE), Ok(8 << 20));
        assert_eq!(ask(73, 1000), Err(Code::UNSUPPORTED));
        assert_eq!(capability(&settings(73), 0, sys::DSP_ATTR_DOMAIN_SUPPORT), Ok(0));
        assert_eq!(capability(&settings(73), 0, sys::DSP_ATTR_ARCH_VER), Err(Code::NO_SUCH_DEVICE));
    }
}
