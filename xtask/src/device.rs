//! Where a llama.cpp program runs its graphs, as arguments and environment.

use std::process::Command;

use anyhow::Result;
use clap::ValueEnum;

use crate::repo::{Dist, Repo};

/// Builds of the simulated DSP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// Compiled for this machine
    Native,
    /// Compiled for Hexagon and run by qemu-hexagon
    Hexagon,
}

impl Engine {
    pub fn name(self) -> &'static str {
        match self {
            Engine::Native => "native",
            Engine::Hexagon => "hexagon",
        }
    }
}

/// Which driver library the plug-in loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Driver {
    /// The simulated device of this project
    #[default]
    Simulator,
    /// The one of the system, or the one GGML_HEXAGON_DRIVER names
    System,
}

/// The device of one run.
pub enum Device {
    Cpu,
    Htp { dist: Dist, driver: Driver, engine: Option<Engine> },
}

/// ggml's name of the first Hexagon device.
pub const HTP: &str = "HTP0";

impl Device {
    /// HTP0, with all that it needs built.
    pub fn htp(repo: &Repo, driver: Driver, engine: Option<Engine>) -> Result<Device> {
        let dist = repo.build()?;
        if engine == Some(Engine::Hexagon) && driver == Driver::Simulator {
            repo.build_hexagon()?;
        }
        Ok(Device::Htp { dist, driver, engine })
    }

    /// A short name for tables.
    pub fn label(&self) -> String {
        match self {
            Device::Cpu => "CPU".to_owned(),
            Device::Htp { driver: Driver::System, .. } => format!("{HTP} (system driver)"),
            Device::Htp { engine, .. } => match engine {
                Some(engine) => format!("{HTP} (simulated, {} engine)", engine.name()),
                None => format!("{HTP} (simulated)"),
            },
        }
    }

    /// Makes a llama.cpp program load the plug-in, or surely not load it.
    pub fn set_env(&self, command: &mut Command) {
        command.env_remove("GGML_BACKEND_PATH");
        // On an abort ggml would start a debugger, which writes into the answer.
        command.env("GGML_NO_BACKTRACE", "1");
        if let Device::Htp { dist, driver, engine } = self {
            command.env("GGML_BACKEND_PATH", &dist.plugin);
            if *driver == Driver::Simulator {
                command.env("GGML_HEXAGON_DRIVER", &dist.driver);
            }
            if let Some(engine) = engine {
                command.env("HTP_SIM_ENGINE", engine.name());
                // An emulated DSP takes its time; only a hung one is to be given up.
                command.env("GGML_HEXAGON_TIMEOUT_MS", "600000");
            }
        }
    }

    /// The arguments that choose the device in the llama-* programs.
    pub fn args(&self) -> &'static [&'static str] {
        match self {
            Device::Cpu => &["-dev", "none"],
            Device::Htp { .. } => &["-dev", HTP, "-ngl", "all"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn env(command: &Command, name: &str) -> Option<Option<PathBuf>> {
        command.get_envs().find(|(key, _)| *key == name).map(|(_, value)| value.map(PathBuf::from))
    }

    #[test]
    fn environment_of_each_device() {
        let dist = Dist { plugin: "/d/p.so".into(), driver: "/d/r.so".into() };
        let htp = |driver| Device::Htp { dist: dist.clone(), driver, engine: Some(Engine::Hexagon) };

        let mut command = Command::new("x");
        htp(Driver::Simulator).set_env(&mut command);
        assert_eq!(env(&command, "GGML_BACKEND_PATH"), Some(Some("/d/p.so".into())));
        assert_eq!(env(&command, "GGML_HEXAGON_DRIVER"), Some(Some("/d/r.so".into())));
        assert_eq!(env(&command, "HTP_SIM_ENGINE"), Some(Some("hexagon".into())));

        let mut command = Command::new("x");
        htp(Driver::System).set_env(&mut command);
        assert_eq!(env(&command, "GGML_HEXAGON_DRIVER"), None);

        let mut command = Command::new("x");
        Device::Cpu.set_env(&mut command);
        assert_eq!(env(&command, "GGML_BACKEND_PATH"), Some(None), "an inherited one is removed");
    }
}
