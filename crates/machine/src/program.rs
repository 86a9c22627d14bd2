//! Running the measuring programs, which are built into the binary.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel does not run the measuring program.
    #[error("cannot run the built-in program that measures: {0}")]
    Start(io::Error),
    /// The measuring program failed.
    #[error("the built-in program that measures failed ({status}){}{stderr}", if .stderr.is_empty() { "" } else { ": " })]
    Failed {
        /// How it ended.
        status: ExitStatus,
        /// Its standard error.
        stderr: String,
    },
    /// The memory to be measured is too small for it.
    #[error("{found} is too little to measure: expected a size of at least {least}")]
    TooSmall {
        /// What is enough.
        least: String,
        /// What was asked for.
        found: String,
    },
    /// There is not enough memory.
    #[error("there is not enough memory for {found}: expected a size of at most {most}")]
    TooLarge {
        /// What can be measured now.
        most: String,
        /// What was asked for.
        found: String,
    },
    /// Not even memory that is kept could be taken.
    #[error("nothing could be measured: {0}")]
    Nothing(String),
    /// It printed something else than measurements.
    #[error("the built-in program that measures printed something unexpected: {0:?}")]
    Output(String),
}

/// An executable file that lies in memory only.
pub struct Program {
    name: &'static str,
    file: File,
}

impl Program {
    /// `code` is the executable file's content.
    pub fn new(name: &'static str, code: &[u8]) -> Result<Program, Error> {
        // Kernels before 6.3 do not know the flag EXEC, and do without.
        let file = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::EXEC)
            .or_else(|_| memfd_create(name, MemfdFlags::CLOEXEC))
            .map_err(|error| Error::Start(error.into()))?;
        let mut file = File::from(file);
        file.write_all(code).map_err(Error::Start)?;
        Ok(Program { name, file })
    }

    /// Ready to be started.
    pub fn command(&self) -> Command {
        let mut command = Command::new(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        command.arg0(self.name);
        command
    }

    /// Runs it; returns what it printed.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String, Error> {
        let output = self.command().args(arguments).stdin(Stdio::null()).output().map_err(Error::Start)?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(Error::Failed { status: output.status, stderr });
        }
        String::from_utf8(output.stdout).map_err(|error| Error::Output(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_say_what_happened() {
        let program = Program::new("test", b"#!/bin/sh\n").unwrap();
        assert!(matches!(program.run(&[]), Err(Error::Failed { .. } | Error::Start(_))));
        let program = Program::new("test", b"no program").unwrap();
        assert!(program.run(&[]).unwrap_err().to_string().starts_with("cannot run the built-in program"));
    }
}
