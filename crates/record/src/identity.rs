//! What a process is: three facts that are easily confused. Its *name* is that of the program as it was started, its *executable*
//! the file behind it, its *title* what it shows in the place of its command line. A title is free text.

use crate::{proc_files, rank};
use memtoll_text::shell;
use memtoll_trace::meta::Rank;
use memtoll_trace::path::last_part;

/// The kernel cuts names off. Bytes.
const KERNELS_NAME: usize = 15;

/// A program as it was started; forked children have their parent's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub command: Vec<String>,
    pub executable: String,
    /// In a parallel job.
    pub rank: Option<Rank>,
    /// The kernel's name then.
    kernels: String,
    /// What the kernel put into memory then: addresses that are chosen anew each time a program is executed.
    vector: Vec<u8>,
    /// The process that these were read from.
    pid: u32,
}

impl Identity {
    /// Of a process that has just executed a program, before that could change anything.
    pub fn of_started(pid: u32) -> Identity {
        let executable = proc_files::executable(pid);
        let begun = Identity::new(proc_files::kernel_name(pid), proc_files::command(pid), executable);
        Identity { rank: rank::of_process(pid), vector: proc_files::auxiliary_vector(pid), pid, ..begun }
    }

    fn new(kernels: String, command: Vec<String>, executable: String) -> Identity {
        let command = program_in_title(&command, &executable).map_or(command, |program| vec![program]);
        let by_descriptor = command.first().is_some_and(|word| word.starts_with("/proc/"));
        let argument = command.first().map_or("", |word| last_part(word));
        let is_cut = kernels.len() == KERNELS_NAME;
        let whole = [argument, last_part(&executable)].into_iter().find(|word| word.starts_with(&kernels));
        let name = match () {
            // Executed as /proc/self/exe: a name that says nothing.
            () if by_descriptor || kernels.is_empty() => last_part(&executable).to_owned(),
            () if is_cut => whole.map_or_else(|| kernels.clone(), str::to_owned),
            () => kernels.clone(),
        };
        Identity { name, command, executable, rank: None, kernels, vector: Vec::new(), pid: 0 }
    }

    /// Whether it was read from this process, not from a parent that forked it.
    pub fn is_of(&self, pid: u32) -> bool {
        self.pid == pid
    }

    /// What a process that began as this one shows instead, if it does and still runs this program.
    pub fn title_of(&self, pid: u32) -> Option<String> {
        let title = self.title(&proc_files::command(pid), &proc_files::kernel_name(pid));
        // Read last: a process that executes a program in between, perhaps the same one, shows that one's command line. Of one
        // that has ended meanwhile, the vector is empty.
        title.filter(|_| proc_files::auxiliary_vector(pid) == self.vector)
    }

    fn title(&self, command: &[String], kernels: &str) -> Option<String> {
        // Of a process that is gone, there is neither.
        let is_known = !kernels.is_empty() && !command.is_empty();
        let title = match () {
            () if *command != self.command => as_title(command),
            () if kernels != self.kernels => kernels.to_owned(),
            () => return None,
        };
        (is_known && !title.trim().is_empty()).then(|| title.trim().to_owned())
    }
}

/// What a running process shows: its command line as a shell reads it, or a title.
pub fn shown(command: &[String], executable: &str) -> String {
    match program_in_title(command, executable) {
        Some(_) => as_title(command).trim().to_owned(),
        None => shell::line(command),
    }
}

/// A command line that was overwritten by one string; the rest of the old one is empty.
fn as_title(command: &[String]) -> String {
    let words: Vec<&str> = command.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// The program that a title begins with, where a process that runs already shows one in the place of its command line: it is one
/// string with blanks, and only empty ones follow. The arguments that the program was started with are lost.
fn program_in_title(command: &[String], executable: &str) -> Option<String> {
    let (title, rest) = command.split_first()?;
    // The path of a file may have blanks, too.
    let is_title = !executable.ends_with(last_part(title)) && rest.iter().all(String::is_empty);
    let (program, _) = title.split_once(' ').filter(|_| is_title)?;
    Some(program.trim_end_matches(':').to_owned()).filter(|program| !program.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    fn identity(kernels: &str, command: &[&str], executable: &str) -> Identity {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        Identity::new(kernels.to_owned(), command, executable.to_owned())
    }

    #[test]
    fn a_name_is_that_of_the_program_as_it_was_started() {
        let name = |kernels, command: &[&str], executable| identity(kernels, command, executable).name;
        assert_eq!(name("redis-server", &["redis-server", "x.conf"], "/usr/bin/redis-check-rdb"), "redis-server");
        assert_eq!(name("ls", &["ls", "-l"], "/bin/busybox"), "ls");
        assert_eq!(name("bash", &["-bash"], "/usr/bin/bash"), "bash");
        assert_eq!(name("tool.py", &["/usr/bin/python3", "./tool.py"], "/usr/bin/python3.11"), "tool.py");
        assert_eq!(name("a-program-with-", &["bin/a-program-with-a-name", "x"], "/y/z"), "a-program-with-a-name");
        assert_eq!(name("a-program-with-", &["other"], "/y/a-program-with-more"), "a-program-with-more");
        assert_eq!(name("exactly-15-long", &["something else"], "/y/z"), "exactly-15-long");
        assert_eq!(name("exe", &["/proc/self/exe", "--type=zygote"], "/opt/chrome/chrome"), "chrome");
        assert_eq!(name("", &[], "/opt/tool"), "tool");
    }

    #[test]
    fn the_next_program_is_no_title() {
        // The same file, too.
        for next in ["sleep 60", "sh -c 'read line'"] {
            let mut shell = Command::new("/bin/sh")
                .args(["-c", &format!("read line; exec {next}")])
                .stdin(Stdio::piped())
                .spawn()
                .expect("/bin/sh is there");
            let identity = Identity::of_started(shell.id());
            let mut input = shell.stdin.take().unwrap();
            writeln!(input).unwrap();
            // Empty for an instant.
            while proc_files::command(shell.id()).first().is_none_or(|first| first == "/bin/sh") {
                std::thread::yield_now();
            }
            let title = identity.title_of(shell.id());
            shell.kill().unwrap();
            shell.wait().unwrap();
            assert_eq!((identity.name.as_str(), title), ("sh", None), "{next}");
        }
    }

    #[test]
    fn a_title_is_no_command_line() {
        let command = |command: &[&str], executable| identity("x", command, executable).command;
        assert_eq!(command(&["redis-server *:7777", "", "", ""], "/usr/bin/redis-check-rdb"), ["redis-server"]);
        assert_eq!(command(&["nginx: master process nginx -g x", ""], "/usr/sbin/nginx"), ["nginx"]);
        assert_eq!(command(&["/opt/my app/run", ""], "/opt/my app/run"), ["/opt/my app/run", ""]);
        assert_eq!(command(&["/opt/my app", "a b"], "/opt/x"), ["/opt/my app", "a b"]);
        assert_eq!(command(&["cat", ""], "/bin/cat"), ["cat", ""]);
        let attached = identity("redis-server", &["redis-server *:7777", "", ""], "/usr/bin/redis-check-rdb");
        let shown = ["redis-server *:7777", "", ""].map(str::to_owned);
        assert_eq!(attached.title(&shown, "redis-server").as_deref(), Some("redis-server *:7777"));
    }

    #[test]
    fn a_title_is_shown_without_what_is_left_of_the_command_line() {
        let shown = |command: &[&str], executable| {
            super::shown(&command.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), executable)
        };
        assert_eq!(shown(&["nginx: worker process  ", "", "", ""], "/usr/sbin/nginx"), "nginx: worker process");
        assert_eq!(shown(&["redis-server *:7777", ""], "/usr/bin/redis-check-rdb"), "redis-server *:7777");
        assert_eq!(shown(&["redis-server", "--save", ""], "/usr/bin/redis-check-rdb"), "redis-server --save ''");
        assert_eq!(shown(&["/opt/my app/run", ""], "/opt/my app/run"), "'/opt/my app/run' ''");
    }

    #[test]
    fn a_title_is_what_was_changed() {
        let server = identity("nginx", &["nginx", "-c", "n.conf"], "/usr/sbin/nginx");
        let title = |command: &[&str], kernels: &str| {
            server.title(&command.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), kernels)
        };
        assert_eq!(title(&["nginx", "-c", "n.conf"], "nginx"), None);
        let worker = "nginx: worker process /etc/n.conf";
        assert_eq!(title(&[worker, "", "", ""], "nginx").as_deref(), Some(worker));
        assert_eq!(title(&["nginx", "-c", "n.conf"], "io worker").as_deref(), Some("io worker"));
        assert_eq!(title(&["[nginx]"], ""), None, "it is gone");
        assert_eq!(title(&["", ""], "nginx"), None);
    }
}
