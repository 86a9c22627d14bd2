//! Why a process is left alone. All of this is found out without touching it.

use super::seccomp;
use super::threads::{self, Task, field};
use super::tracing::Traced;
use crate::identity;
use crate::private_directory::RECORDER_NAME;
use crate::proc_files;
use crate::recordable_program::{self, Verdict};
use std::fs;
use std::path::Path;

/// What has to be there for memtoll to attach to a process, or why not.
pub fn check(pid: u32, recorder: &[u8]) -> Result<(), String> {
    let status =
        fs::read_to_string(format!("/proc/{pid}/status")).map_err(|_| "there is no such process".to_owned())?;
    let field = |name| field(&status, name).unwrap_or_default();
    if pid == std::process::id() {
        return Err("it is this memtoll itself".to_owned());
    }
    if field("Tgid") != pid.to_string() {
        return Err(format!("it is a thread of process {}; attach to that", field("Tgid")));
    }
    match field("State").chars().next() {
        Some('Z' | 'X') => return Err("it has ended".to_owned()),
        Some('T') => return Err("it is stopped; let it go on first, with kill -CONT".to_owned()),
        _ => {}
    }
    if fs::read_link(format!("/proc/{pid}/exe")).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return Err("it is a part of the kernel".to_owned());
    }
    let me = rustix::process::geteuid().as_raw();
    let owner: Option<u32> = field("Uid").split_whitespace().next().and_then(|user| user.parse().ok());
    if me != 0 && owner != Some(me) {
        return Err("it belongs to another user; run memtoll as that user, or as root".to_owned());
    }
    if field("TracerPid") != "0" {
        let tracer = field("TracerPid");
        let name = tracer.parse().map(proc_files::kernel_name).unwrap_or_default();
        return Err(format!("process {tracer} ({name}) traces it; a process has one tracer at a time"));
    }
    if memtoll_processor::injection::has_shadow_stack(&status) {
        return Err(
            "it has a shadow stack, which memtoll attach does not know yet; start it with memtoll record".to_owned()
        );
    }
    if proc_files::maps(pid).iter().any(|line| Path::new(&line.path).file_name() == Some(RECORDER_NAME.as_ref())) {
        return Err("it is being recorded already, by the memtoll that started it".to_owned());
    }
    let exe = format!("/proc/{pid}/exe");
    if let Verdict::Disturbed(why) | Verdict::Unrecordable(why) =
        recordable_program::inspect_for(Path::new(&exe), recorder)
        && !why.contains("set-user-id")
    {
        let file = proc_files::executable(pid);
        return Err(why.replace(&exe, &file));
    }
    // Has no effect, but that the kernel says whether it is allowed.
    Traced::seize(pid as i32).map(drop).map_err(|error| {
        not_allowed(&error, &fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default())
    })?;
    let filtered = |task: &Task| threads::status_field(pid, task.tid, "Seccomp").is_some_and(|mode| mode != "0");
    seccomp::check(threads::tasks(pid).iter().filter(|task| filtered(task)).map(|task| task.tid))
}

/// `scope`: what `kernel.yama.ptrace_scope` says.
fn not_allowed(error: &std::io::Error, scope: &str) -> String {
    match (error.raw_os_error(), scope.trim()) {
        (Some(libc::EPERM), "1") => "the system lets a process be traced by its ancestors only (yama); run memtoll as \
                                     root, or set kernel.yama.ptrace_scope to 0"
            .to_owned(),
        (Some(libc::EPERM), "2") => "the system lets root alone trace processes (yama); run memtoll as root".to_owned(),
        (Some(libc::EPERM), "3") => "the system lets nobody trace processes (yama), until it is restarted".to_owned(),
        (Some(libc::EPERM), _) => "the system does not allow to trace it: it has rights that memtoll lacks, or is not \
                                   dumpable; run memtoll as root"
            .to_owned(),
        _ => format!("it cannot be traced: {error}"),
    }
}

/// The process with this number or name.
pub fn find(text: &str) -> Result<u32, String> {
    if let Ok(pid) = text.parse() {
        return Ok(pid);
    }
    let executable = |pid| {
        let path = proc_files::executable(pid);
        memtoll_trace::path::last_part(&path).to_owned()
    };
    let is_it =
        |pid: &u32| *pid != std::process::id() && (proc_files::kernel_name(*pid) == text || executable(*pid) == text);
    let found: Vec<u32> = proc_files::all().into_iter().filter(is_it).collect();
    match found[..] {
        [pid] => Ok(pid),
        [] => Err(format!("there is no process called \"{text}\"; ps -e lists names and numbers")),
        _ => {
            let shown = |pid| identity::shown(&proc_files::command(pid), &proc_files::executable(pid));
            let each: Vec<String> = found.iter().map(|pid| format!("  {pid}  {}", shown(*pid))).collect();
            Err(format!(
                "{} processes are called \"{text}\"; choose one by its number:\n{}",
                each.len(),
                each.join("\n")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yama_is_explained() {
        let refused = std::io::Error::from_raw_os_error(libc::EPERM);
        for (scope, says) in [
            ("1", "its ancestors only"),
            ("2", "root alone"),
            ("3", "until it is restarted"),
            ("", "rights that memtoll lacks"),
        ] {
            let why = not_allowed(&refused, &format!("{scope}\n"));
            assert!(why.contains(says), "{scope}: {why}");
        }
        assert!(not_allowed(&std::io::Error::from_raw_os_error(libc::ESRCH), "1").starts_with("it cannot be traced"));
    }
}
