//! Settings: every `GGML_HEXAGON_*` environment variable, its name, type, default and meaning. Read once.
//!
//! A new knob is a field of [`Config`] with its default, and a line in `KNOBS`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::Duration;

/// The settings of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Driver library to load instead of the system's.
    pub driver: Option<PathBuf>,
    /// How many devices to open.
    pub ndev: usize,
    /// Architecture of the DSP, where it is not to be asked.
    pub arch: Option<u32>,
    /// Worker threads on the DSP; 0: as many as it has HVX contexts.
    pub nhvx: u32,
    /// Whether the DSP may use its matrix unit. See [`Config::hmx`].
    pub use_hmx: bool,
    /// The same, as a number of units. See [`Config::hmx`].
    pub nhmx: u32,
    /// Whether plain buffers count as host memory.
    pub hostbuf: bool,
    /// How much to log, 0 to 3.
    pub verbose: u32,
    /// What to log about the cost of ops.
    pub profile: Profile,
    /// Whether to turn the DSP's trace hardware on.
    pub etm: bool,
    /// Whether to send each op by itself.
    pub opsync: bool,
    /// Most ops of a batch.
    pub opbatch: usize,
    /// How long to wait for the DSP, in milliseconds; 0: for ever. See [`Config::timeout`].
    pub timeout_ms: u32,
    /// Largest single buffer in MiB. See [`Config::max_buffer_bytes`].
    pub mbuf: u32,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            driver: None,
            ndev: 1,
            arch: None,
            nhvx: 0,
            use_hmx: true,
            nhmx: 1,
            hostbuf: true,
            verbose: 0,
            profile: Profile::default(),
            etm: false,
            opsync: false,
            opbatch: 1280,
            timeout_ms: 30_000,
            mbuf: 1024,
        }
    }
}

/// What to log about the cost of ops.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// Whether to log it at all.
    pub enabled: bool,
    /// Numbers of hardware events of the DSP to count as well.
    pub events: Vec<u32>,
}

/// What is known about a knob, for documentation.
#[derive(Debug, Clone, Copy)]
pub struct Knob {
    /// Name of the environment variable.
    pub name: &'static str,
    /// What its value looks like.
    pub kind: &'static str,
    /// What holds when it is not set; empty or in words where that is no value.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

/// A value that made no sense and was not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The variable.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// What a value should look like.
    pub expected: &'static str,
    /// What is used instead.
    pub default: &'static str,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Warning { name, value, expected, default } = self;
        write!(f, "{name}={value} makes no sense (expected: {expected}); using the default: {default}")
    }
}

/// A knob, and how its value gets into the configuration: `None` when it does not parse.
struct Entry {
    knob: Knob,
    set: fn(&mut Config, &str) -> Option<()>,
}

/// Wire messages say an op's number in a batch in 16 bits, and the wire format allows 4096 (`HTP_MAX_OPS`).
const MAX_OPS: usize = crate::batch::wire::HTP_MAX_OPS as usize;
/// The driver has no more sessions.
const MAX_DEVICES: usize = 16;
/// More than any DSP has.
const MAX_HVX: u32 = 16;
/// A DSP has one; a session has no use for more.
const MAX_HMX: u32 = 1;
const MAX_VERBOSE: u32 = 3;
/// The DSP maps a buffer in one piece, which has to be smaller than 2 GiB.
const MAX_BUFFER_MIB: u32 = 2047;

const KNOBS: &[Entry] = &[
    Entry {
        knob: Knob {
            name: "GGML_HEXAGON_DRIVER",
            kind: "path",
            default: "the system's driver",
            meaning: "driver library to load, and no other",
        },
        set: |config, value| {
            config.driver = Some(PathBuf::from(value));
            Some(())
        },
    },
    Entry {
        knob: Knob {
            name: "GGML_HEXAGON_NDEV",
            kind: "1 to 16",
            default: "1",
            meaning: "devices to open: HTP0, HTP1, ..., each a DSP process with an address space of its own",
        },
        set: |config, value| store(&mut config.ndev, number(value, 1, MAX_DEVICES)),
    },
    Entry {
        knob: Knob {
            name: "GGML_HEXAGON_ARCH",
            kind: "`auto` or an architecture, `v73` or `73`",
            default: "auto",
            meaning: "architecture of the DSP library to use, where the driver does not tell or another one is wanted",
        },
        set: |config, value| match value {
            "auto" => Some(()),
            value => store(&mut config.arch, architecture(value)),
        },
    },
    Entry {
        knob: Knob {
            name: "GGML_HEXAGON_NHVX",
            kind: "0 to 16",
            default: "0",
            meaning: "worker threads on the DSP; 0: as many as it has HVX contexts",
        },
        set: |config, value| store(&mut config.nhvx, number(value, 0, MAX_HVX)),
    },
    Entry {
        knob: Knob {
            name: "GGML_HEXAGON_USE_HMX",
            kind: "0 or 1",
            default: "1",
            meaning: "use the DSP's matrix unit where it has one",
        },
        set: |config, value| store(&mut config.use_hmx, switch(value)),
    },
    Entry {
        knob: Knob {
            name: "GGML_HEXAGON_NHMX",
            kind: "0 or 1",
            default: "1",
            meaning: "matrix units to use; 0 is the same as `GGML_HEXAGON_USE_HMX=0`",
        },
        set: |config, value| store(&mut config.nhmx, number(value, 0, MAX_HMX)),
    },
    Entry {
        knob: Knob {
            name: "GGML_HEXAGON_HOSTBUF",
            kind: "0 or 1",
            default: "1",
            meaning:
                "whether the CPU computes on a device's buffers without copies, where the DSP does not support an op",
        },
        set: |config, value| store(&mut config.hostbuf, switch(value)),
    },
    Entry {
        knob: Knob {
            name: "GGML_HEXAGON_VERBOSE",
            kind: "0 to 3",
            default: "0",
            meaning: "how much to log: 1 sessions and ops, 2 batches, 3 their contents",
        },
        set: |config, value| store(&mut config.verbose, number(value, 0, MAX_VERBOSE)),
    },
    Entry {
        knob: Knob {
            name: "GGML_HEXAGON_PROFILE",
            kind: "0 to 2, or up to 8 hardware events: `0x111` or `3,0x111`",
            default: "0",
            meaning:
                "log what each op costs on the DSP: 1 time, cycles and packets; 2 hardware events too, a choice of 8",
        },
        set: |config, value| store(&mut config.profile, Profile::parse(value)),
    },
    Entry {
        knob: Knob {
            name: "GGML_HEXAGON_ETM",
            kind: "0 or 1",
            default: "0",
            meaning: "turn the DSP's trace hardware on",
        },
        set: |config, value| store(&mut config.etm, switch(value)),
    },
    Entry {
        knob: Knob {
            name: "GGML_HEXAGON_OPSYNC",
            kind: "0 or 1",
            default: "0",
            meaning: "send each op by itself and wait for it, to find the one that fails",
        },
        set: |config, value| store(&mut config.opsync, switch(value)),
    },
    Entry {
        knob: Knob {
            name: "GGML_HEXAGON_OPBATCH",
            kind: "1 to 4096",
            default: "1280",
            meaning: "most ops that are sent in one batch",
        },
        set: |config, value| store(&mut config.opbatch, number(value, 1, MAX_OPS)),
    },
    Entry {
        knob: Knob {
            name: "GGML_HEXAGON_TIMEOUT_MS",
            kind: "milliseconds",
            default: "30000",
            meaning: "how long to wait for an answer before the DSP counts as hung; 0: for ever",
        },
        set: |config, value| store(&mut config.timeout_ms, number(value, 0, u32::MAX)),
    },
    Entry {
        knob: Knob {
            name: "GGML_HEXAGON_MBUF",
            kind: "1 to 2047 (MiB)",
            default: "1024",
            meaning: "largest single buffer; ggml spreads larger models over several",
        },
        set: |config, value| store(&mut config.mbuf, number(value, 1, MAX_BUFFER_MIB)),
    },
];

/// Those that llama.cpp's own backend counts by default, so that numbers can be compared. Qualcomm's manuals say what
/// each is.
const DEFAULT_EVENTS: [u32; MAX_EVENTS] = [0x3, 0x111, 0x100, 0x105, 0x240, 0x256, 0x7d, 0x8c];
const MAX_EVENTS: usize = crate::batch::wire::HTP_MAX_EVENTS as usize;

impl Profile {
    fn parse(text: &str) -> Option<Profile> {
        let event = |text: &str| {
            let text = text.trim();
            let number = match text.strip_prefix("0x") {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => text.parse().ok()?,
            };
            (number < crate::batch::wire::HTP_EVENT_NUMBERS).then_some(number)
        };
        let events = match text {
            "2" => DEFAULT_EVENTS.to_vec(),
            // a number alone may be a mode of later versions
            text if text.contains(',') || text.starts_with("0x") => {
                text.split(',').map(event).collect::<Option<Vec<u32>>>()?
            }
            text => return Some(Profile { enabled: switch(text)?, events: Vec::new() }),
        };
        (events.len() <= MAX_EVENTS).then_some(Profile { enabled: true, events })
    }
}

/// Puts a parsed value into its place; the place may be an Option of the value.
fn store<T, P: From<T>>(place: &mut P, value: Option<T>) -> Option<()> {
    *place = value?.into();
    Some(())
}

fn number<T: FromStr + PartialOrd>(text: &str, least: T, most: T) -> Option<T> {
    text.parse().ok().filter(|number| (least..=most).contains(number))
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "0" | "off" | "false" | "no" => Some(false),
        "1" | "on" | "true" | "yes" => Some(true),
        _ => None,
    }
}

/// Two digits, which is how the architectures that there are, and their libraries, are called.
fn architecture(text: &str) -> Option<u32> {
    number(text.strip_prefix(['v', 'V']).unwrap_or(text), 10, 99)
}

impl Config {
    /// The settings of this process: the environment as it was at the first call.
    pub fn get() -> &'static Config {
        static CONFIG: OnceLock<Config> = OnceLock::new();
        CONFIG.get_or_init(Config::from_env)
    }

    /// Reads the environment. Values that make no sense are logged.
    pub fn from_env() -> Config {
        // a value that is not UTF-8 is no number, and as a path it is shown in the error that follows
        let lookup = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let (config, warnings) = Config::parse(lookup);
        for warning in warnings {
            log::warn!("{warning}");
        }
        config
    }

    /// Reads settings from `lookup`, which returns the value of an environment variable. A variable that is empty
    /// counts as not set; one that makes no sense leaves the default and a warning.
    pub fn parse(lookup: impl Fn(&str) -> Option<String>) -> (Config, Vec<Warning>) {
        let mut config = Config::default();
        let mut warnings = Vec::new();
        for Entry { knob, set } in KNOBS {
            let Some(value) = lookup(knob.name) else { continue };
            let text = value.trim();
            if !text.is_empty() && set(&mut config, text).is_none() {
                warnings.push(Warning { name: knob.name, value, expected: knob.kind, default: knob.default });
            }
        }
        (config, warnings)
    }

    /// All knobs, for documentation.
    pub fn table() -> impl Iterator<Item = Knob> {
        KNOBS.iter().map(|entry| entry.knob)
    }

    /// Whether the DSP may use its matrix unit: neither of the two knobs forbids it.
    pub fn hmx(&self) -> bool {
        self.use_hmx && self.nhmx > 0
    }

    /// How long to wait for the DSP; `None`: for ever.
    pub fn timeout(&self) -> Option<Duration> {
        (self.timeout_ms > 0).then(|| Duration::from_millis(self.timeout_ms.into()))
    }

    /// Largest single buffer in bytes.
    pub fn max_buffer_bytes(&self) -> usize {
        usize::try_from(u64::from(self.mbuf) << 20).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses with one variable set.
    fn with(name: &str, value: &str) -> (Config, Vec<Warning>) {
        Config::parse(|asked| (asked == format!("GGML_HEXAGON_{name}")).then(|| value.to_owned()))
    }

    fn edited(edit: impl FnOnce(&mut Config)) -> Config {
        let mut config = Config::default();
        edit(&mut config);
        config
    }

    fn profile(events: &[u32]) -> Profile {
        Profile { enabled: true, events: events.to_vec() }
    }

    #[test]
    fn nothing_set_means_defaults() {
        assert_eq!(Config::parse(|_| None), (Config::default(), vec![]));
        assert_eq!(Config::parse(|_| Some(" ".into())), (Config::default(), vec![]));
    }

    #[test]
    fn every_knob_is_read() {
        let cases: Vec<(&str, &str, Config)> = vec![
            ("DRIVER", "/opt/lib.so", edited(|c| c.driver = Some("/opt/lib.so".into()))),
            ("NDEV", "16", edited(|c| c.ndev = 16)),
            ("ARCH", "v75", edited(|c| c.arch = Some(75))),
            ("ARCH", "81", edited(|c| c.arch = Some(81))),
            ("NHVX", " 4 ", edited(|c| c.nhvx = 4)),
            ("USE_HMX", "0", edited(|c| c.use_hmx = false)),
            ("NHMX", "0", edited(|c| c.nhmx = 0)),
            ("HOSTBUF", "0", edited(|c| c.hostbuf = false)),
            ("VERBOSE", "3", edited(|c| c.verbose = 3)),
            ("PROFILE", "on", edited(|c| c.profile.enabled = true)),
            ("PROFILE", "2", edited(|c| c.profile = profile(&DEFAULT_EVENTS))),
            ("PROFILE", "0x3ff", edited(|c| c.profile = profile(&[1023]))),
            ("PROFILE", "3, 0x111,256", edited(|c| c.profile = profile(&[3, 0x111, 256]))),
            ("ETM", "1", edited(|c| c.etm = true)),
            ("OPSYNC", "true", edited(|c| c.opsync = true)),
            ("OPBATCH", "1", edited(|c| c.opbatch = 1)),
            ("TIMEOUT_MS", "0", edited(|c| c.timeout_ms = 0)),
            ("MBUF", "2047", edited(|c| c.mbuf = 2047)),
        ];
        for knob in Config::table() {
            let tested = cases.iter().any(|(name, ..)| knob.name == format!("GGML_HEXAGON_{name}"));
            assert!(tested, "{} has no case here", knob.name);
        }
        for (name, value, expected) in cases {
            assert_ne!(expected, Config::default(), "{name}={value} tests nothing");
            assert_eq!(with(name, value), (expected, vec![]), "{name}={value}");
        }
    }

    #[test]
    fn nonsense_leaves_the_default_and_a_warning() {
        for (name, value) in [
            ("NDEV", "0"),
            ("NDEV", "17"),
            ("ARCH", "auto?"),
            ("ARCH", "v7"),
            ("ARCH", "173"),
            ("NHVX", "-1"),
            ("NHVX", "17"),
            ("USE_HMX", "2"),
            ("NHMX", "2"),
            ("HOSTBUF", "maybe"),
            ("VERBOSE", "4"),
            ("PROFILE", "x"),
            ("PROFILE", "3"),
            ("PROFILE", "0x400"),
            ("PROFILE", "1,2,"),
            ("PROFILE", "1,2,3,4,5,6,7,8,9"),
            ("ETM", "-1"),
            ("OPSYNC", "10"),
            ("OPBATCH", "0"),
            ("OPBATCH", "4097"),
            ("TIMEOUT_MS", "1s"),
            ("TIMEOUT_MS", "99999999999"),
            ("MBUF", "0"),
            ("MBUF", "2048"),
        ] {
            let (config, warnings) = with(name, value);
            assert_eq!(config, Config::default(), "{name}={value}");
            assert_eq!(warnings.len(), 1, "{name}={value}");
            let text = warnings[0].to_string();
            assert!(text.contains(&format!("GGML_HEXAGON_{name}={value}")), "{text}");
            assert!(text.contains(warnings[0].default), "{text}");
        }
    }

    #[test]
    fn documented_defaults_are_the_defaults() {
        for entry in KNOBS {
            let mut config = Config::default();
            // a path has no value that stands for "not set"
            if entry.knob.name != "GGML_HEXAGON_DRIVER" {
                assert!((entry.set)(&mut config, entry.knob.default).is_some(), "{}", entry.knob.name);
            }
            assert_eq!(config, Config::default(), "{}", entry.knob.name);
        }
    }

    #[test]
    fn derived_values() {
        assert_eq!(Config::default().max_buffer_bytes(), 1 << 30);
        assert_eq!(Config::default().timeout(), Some(Duration::from_secs(30)));
        assert_eq!(with("TIMEOUT_MS", "0").0.timeout(), None);
        assert!(Config::default().hmx());
        assert!(!with("NHMX", "0").0.hmx() && !with("USE_HMX", "0").0.hmx());
    }

    /// The table in the README is made from the knobs.
    #[test]
    fn the_readme_has_every_knob() {
        let mut table = String::from("| variable | values | default | what it does |\n|---|---|---|---|\n");
        for Knob { name, kind, default, meaning } in Config::table() {
            let kind = kind.replace('|', "or");
            table += &format!("| `{name}` | {kind} | {default} | {meaning} |\n");
        }
        let readme = include_str!("../README.md");
        assert!(readme.contains(&table), "README.md does not have this table:\n\n{table}");
    }
}
