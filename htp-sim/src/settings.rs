//! What the environment says about the simulated device. The table is in the crate's documentation.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::faults::Faults;
use crate::say;

/// Architectures that can be simulated.
const ARCHITECTURES: [u32; 6] = [68, 69, 73, 75, 79, 81];

/// A session's DSP process has a 32-bit address space; this is what a device leaves for buffers.
const DEFAULT_MAP_MB: u64 = 3200;

/// Which build of the DSP program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Built for this machine.
    Native,
    /// Built for Hexagon Linux, run by an emulator.
    Hexagon,
}

/// Everything that can be set.
#[derive(Debug)]
pub struct Settings {
    /// 68, 69, 73, 75, 79 or 81.
    pub arch: u32,
    /// Which build runs.
    pub engine: Engine,
    /// The program of engine native, where named.
    pub program: Option<PathBuf>,
    /// The program of engine hexagon, where named.
    pub program_hexagon: Option<PathBuf>,
    /// The emulator for engine hexagon.
    pub emulator: OsString,
    /// Bytes of rpcmem in all.
    pub memory_limit: Option<u64>,
    /// Bytes mapped to one session.
    pub map_limit: u64,
    /// Least level of DSP log lines that are printed: 0 debug ... 3 error.
    pub log_level: u32,
    /// Faults to inject.
    pub faults: Faults,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            arch: 73,
            engine: Engine::Native,
            program: None,
            program_hexagon: None,
            emulator: OsString::from("qemu-hexagon"),
            memory_limit: None,
            map_limit: DEFAULT_MAP_MB << 20,
            log_level: 2,
            faults: Faults::default(),
        }
    }
}

impl Settings {
    /// Reads the process's environment and reports on stderr what it cannot use.
    pub fn from_environment() -> Self {
        Settings::read(|name| std::env::var_os(name), say::driver)
    }

    /// Reads an environment. What cannot be used is passed to `complain`, and the default holds.
    pub fn read(get: impl Fn(&str) -> Option<OsString>, mut complain: impl FnMut(&str)) -> Self {
        let mut settings = Settings::default();
        // an empty value means the same as none
        let get = |name: &str| get(name).filter(|value| !value.is_empty());
        let mut value = |name: &str, expected: &str, use_value: &mut dyn FnMut(&str) -> Option<()>| {
            let Some(text) = get(name) else { return };
            if text.to_str().and_then(use_value).is_none() {
                complain(&format!("{name}={} is ignored: expected {expected}", text.to_string_lossy()));
            }
        };
        value("HTP_SIM_ARCH", "v68, v69, v73, v75, v79 or v81", &mut |text| {
            let arch = text.strip_prefix('v').unwrap_or(text).parse().ok()?;
            settings.arch = ARCHITECTURES.into_iter().find(|known| *known == arch)?;
            Some(())
        });
        value("HTP_SIM_ENGINE", "native or hexagon", &mut |text| {
            settings.engine = match text {
                "native" => Engine::Native,
                "hexagon" => Engine::Hexagon,
                _ => return None,
            };
            Some(())
        });
        value("HTP_SIM_MEMORY_MB", "a number of MiB", &mut |text| {
            settings.memory_limit = Some(mebibytes(text)?);
            Some(())
        });
        value("HTP_SIM_MAP_MB", "a number of MiB", &mut |text| {
            settings.map_limit = mebibytes(text)?;
            Some(())
        });
        value("HTP_SIM_LOG", "debug, info, warn or error", &mut |text| {
            settings.log_level = ["debug", "info", "warn", "error"].iter().position(|known| *known == text)? as u32;
            Some(())
        });
        settings.program = get("HTP_SIM_DSP").map(PathBuf::from);
        settings.program_hexagon = get("HTP_SIM_DSP_HEXAGON").map(PathBuf::from);
        if let Some(emulator) = get("QEMU_HEXAGON") {
            settings.emulator = emulator;
        }
        if let Some(list) = get("HTP_SIM_FAULTS") {
            settings.faults =
                Faults::parse(&list.to_string_lossy(), |text| complain(&format!("HTP_SIM_FAULTS: {text}")));
        }
        settings
    }

    /// The architecture as the driver reports it: 0x73 for v73.
    pub fn arch_code(&self) -> u32 {
        self.arch / 10 * 16 + self.arch % 10
    }

    /// The program that the environment names for the engine in use.
    pub fn named_program(&self) -> Option<&OsStr> {
        match self.engine {
            Engine::Native => self.program.as_deref(),
            Engine::Hexagon => self.program_hexagon.as_deref(),
        }
        .map(|path| path.as_os_str())
    }
}

fn mebibytes(text: &str) -> Option<u64> {
    text.parse::<u64>().ok()?.checked_mul(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> (Settings, Vec<String>) {
        let mut complaints = Vec::new();
        let get =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
        let settings = Settings::read(get, |text| complaints.push(text.to_owned()));
        (settings, complaints)
    }

    #[test]
    fn everything_can_be_set() {
        let (settings, complaints) = read(&[
            ("HTP_SIM_ARCH", "v81"),
            ("HTP_SIM_ENGINE", "hexagon"),
            ("HTP_SIM_DSP", "/a"),
            ("HTP_SIM_DSP_HEXAGON", "/b"),
            ("QEMU_HEXAGON", "/c"),
            ("HTP_SIM_MEMORY_MB", "5"),
            ("HTP_SIM_MAP_MB", "7"),
            ("HTP_SIM_LOG", "debug"),
            ("HTP_SIM_FAULTS", "kill:1"),
        ]);
        assert_eq!(complaints, [""; 0]);
        assert_eq!((settings.arch, settings.arch_code(), settings.engine), (81, 0x81, Engine::Hexagon));
        assert_eq!(
            (settings.named_program(), settings.emulator.as_os_str()),
            (Some(OsStr::new("/b")), OsStr::new("/c"))
        );
        assert_eq!((settings.memory_limit, settings.map_limit, settings.log_level), (Some(5 << 20), 7 << 20, 0));
        assert_eq!(settings.faults.of_packet(), crate::faults::Fate::DeliverAndKill);
        assert_eq!(read(&[("HTP_SIM_ARCH", "69")]).0.arch_code(), 0x69);
    }

    #[test]
    fn nonsense_is_reported_and_ignored() {
        let (settings, complaints) = read(&[
            ("HTP_SIM_ARCH", "v74"),
            ("HTP_SIM_ENGINE", "gpu"),
            ("HTP_SIM_MEMORY_MB", "-1"),
            ("HTP_SIM_MAP_MB", "99999999999999999"),
            ("HTP_SIM_LOG", "loud"),
            ("HTP_SIM_FAULTS", "oops"),
        ]);
        assert_eq!(complaints.len(), 6, "{complaints:?}");
        let default = Settings::default();
        assert_eq!((settings.arch, settings.engine), (default.arch, default.engine));
        assert_eq!((settings.memory_limit, settings.map_limit), (default.memory_limit, default.map_limit));
        assert!(read(&[("HTP_SIM_ARCH", ""), ("HTP_SIM_LOG", "")]).1.is_empty());
    }
}
