//! Runs a command to its end and measures it as a whole.

use serde_json::Value;
use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// A command line with its environment and directory.
#[derive(Clone, Debug)]
pub struct CommandLine {
    /// Program and arguments.
    pub words: Vec<OsString>,
    /// Additions to the environment.
    pub environment: Vec<(String, String)>,
}

/// What a run took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Time in user and kernel mode, the process and all its children that it waited for, seconds.
    pub cpu: f64,
    /// Seconds from start to end.
    pub wall: f64,
    /// Largest resident set of a process among them, bytes. No less than that of the process that measures: the kernel takes
    /// what starts a program for a part of it.
    pub peak_rss: u64,
    /// Page faults, minor and major, as the kernel counted them.
    pub faults: u64,
}

impl CommandLine {
    /// Words of a command line; nothing is quoted.
    pub fn new<S: Into<OsString>>(words: impl IntoIterator<Item = S>) -> Self {
        CommandLine { words: words.into_iter().map(Into::into).collect(), environment: Vec::new() }
    }

    /// With a variable of the environment.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Behind other words: `valgrind --tool=none` and so on.
    pub fn under<S: Into<OsString>>(&self, front: impl IntoIterator<Item = S>) -> CommandLine {
        let words = front.into_iter().map(Into::into).chain(self.words.iter().cloned()).collect();
        CommandLine { words, environment: self.environment.clone() }
    }

    fn command(&self) -> Result<Command, String> {
        let (program, arguments) = self.words.split_first().ok_or("an empty command")?;
        let mut command = Command::new(program);
        // cargo sets it and Valgrind makes it longer, which a program that copies its environment sees.
        command.env_remove("LD_LIBRARY_PATH");
        command.args(arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command)
    }

    /// Runs it with its output thrown away. An exit code other than 0 is an error.
    pub fn measure(&self) -> Result<Usage, String> {
        // From here on, what this process had once does not count any more. Where the kernel refuses, that is no error.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let began = Instant::now();
        let child = self.command()?.spawn().map_err(|error| format!("cannot run {:?}: {error}", self.words[0]))?;
        let mut status = 0;
        // SAFETY: plain data, filled in by wait4.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the child is this process's and nobody else waits for it.
        let waited = unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) };
        let wall = began.elapsed().as_secs_f64();
        if waited < 0 || !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
            return Err(format!("{:?} failed (wait status {status:#x})", self.words));
        }
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
        let cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
        let faults = (usage.ru_minflt + usage.ru_majflt) as u64;
        Ok(Usage { cpu, wall, peak_rss: usage.ru_maxrss as u64 * 1024, faults })
    }

    /// Runs it and returns what it prints on standard error.
    pub fn errors(&self, log: &Path) -> Result<String, String> {
        let file = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
        let status = self.command()?.stderr(file).status();
        let status = status.map_err(|error| format!("cannot run {:?}: {error}", self.words[0]))?;
        let text = std::fs::read(log).map_err(|error| format!("{}: {error}", log.display()))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        if status.success() { Ok(text) } else { Err(format!("{:?} failed ({status}):\n{text}", self.words)) }
    }

    /// Runs it and returns what it prints on standard output. An exit code other than 0 is an error.
    pub fn output(&self) -> Result<String, String> {
        let output = self.command()?.stdout(Stdio::piped()).output();
        let output = output.map_err(|error| format!("cannot run {:?}: {error}", self.words[0]))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() { Ok(text) } else { Err(format!("{:?} failed ({})", self.words, output.status)) }
    }

    /// Runs it and returns what it prints on standard output, as JSON.
    pub fn json(&self) -> Result<Value, String> {
        let output = self.command()?.stdout(Stdio::piped()).output();
        let output = output.map_err(|error| format!("cannot run {:?}: {error}", self.words[0]))?;
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{:?} printed no JSON: {error}", self.words))
    }
}

/// The middle one of some values; NaN if there is none.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// A number of a JSON report, by its path.
pub fn number(report: &Value, path: &str) -> u64 {
    report.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0]), 2.5);
        assert!(median([]).is_nan());
    }

    #[test]
    fn memory_that_this_process_had_is_no_programs() {
        const MUCH: usize = 256 << 20;
        std::hint::black_box(vec![1u8; MUCH]);
        let usage = CommandLine::new(["true"]).measure().unwrap();
        assert!(usage.peak_rss < MUCH as u64, "{} bytes", usage.peak_rss);
    }

    #[test]
    fn a_failing_command_is_an_error() {
        assert!(CommandLine::new(["sh", "-c", "exit 3"]).measure().is_err());
        assert!(CommandLine::new(["true"]).measure().is_ok());
        assert_eq!(number(&CommandLine::new(["echo", "{\"a\":{\"b\":7}}"]).json().unwrap(), "/a/b"), 7);
    }
}
