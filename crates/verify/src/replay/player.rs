//! One playing of a script.

use super::Error;
use crate::setting::Setting;
use memtoll_machine::Program;
use serde::Deserialize;
use std::path::Path;
use std::process::Stdio;

const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/player"));

/// What a playing took.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Taken {
    /// From the first call to the last one, ns.
    pub wall_ns: f64,
    /// User time, ns.
    pub user_ns: f64,
    /// System time, ns.
    pub system_ns: f64,
    /// Minor page faults.
    pub minor_faults: f64,
    /// Major page faults.
    pub major_faults: f64,
    /// All threads together: neither on the processor nor in the queue for it, and not because of the script, ns.
    pub waiting_ns: f64,
    /// All threads together: waiting for the order that the recording has, or for the time to pass, ns.
    pub order_ns: f64,
    /// Calls that the allocator refused.
    pub refused: f64,
    /// Largest resident set above that at the beginning, bytes; negative if it is not known.
    pub peak_bytes: f64,
    /// Resident set above that at the beginning when all was played, bytes.
    pub end_bytes: f64,
    /// User and system time before the first call: of loading the libraries, and of the player's own preparations, ns.
    pub start_ns: f64,
    /// Page faults before the first call.
    pub start_faults: f64,
}

/// Whether the player calls an allocator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Calls {
    /// It does.
    Real,
    /// Something that does nothing stands in its place.
    Stub,
}

pub struct Player {
    program: Program,
}

impl Player {
    /// Ready to play.
    pub fn new() -> Result<Player, Error> {
        Ok(Player { program: Program::new("memtoll-player", PROGRAM)? })
    }

    /// Its executable file.
    pub fn code() -> &'static [u8] {
        PROGRAM
    }

    /// Plays a script with settings in its environment.
    pub fn play(&self, script: &Path, calls: Calls, name: &str, settings: &[Setting]) -> Result<Taken, Error> {
        let mut command = self.program.command();
        command.arg(script).arg(if calls == Calls::Real { "real" } else { "stub" });
        // What is set for memtoll itself does not concern the player.
        command.env_remove("LD_PRELOAD").env_remove("GLIBC_TUNABLES");
        for setting in settings {
            command.env(setting.name(), setting.value());
        }
        let output = command.stdin(Stdio::null()).output()?;
        let failed = |how: String| {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            let stderr = if said.is_empty() { said } else { format!(": {said}") };
            Error::Failed { contestant: name.to_owned(), how, stderr }
        };
        if !output.status.success() {
            return Err(failed(format!("failed ({})", output.status)));
        }
        // The loader says on stderr that it cannot preload a library, and goes on without.
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("cannot be preloaded") {
            return Err(failed("could not load the allocator".to_owned()));
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| failed(format!("printed something unexpected ({error})")))
    }
}
