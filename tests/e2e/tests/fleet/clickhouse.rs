//! ClickHouse servers on this machine.

use super::store::Store;
use memtoll_e2e::{free_port, scratch, target_directory, wait_until, workspace};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command};
use tempfile::TempDir;

/// A server of its own in a folder of its own; it ends with this.
pub struct ClickHouse {
    /// The process.
    pub server: Child,
    /// Where it speaks HTTP.
    pub port: u16,
    /// Where its files are.
    pub folder: TempDir,
    /// What starts it.
    words: Vec<OsString>,
}

impl ClickHouse {
    /// On ports that are free.
    pub fn start() -> ClickHouse {
        ClickHouse::start_by(&[], [free_port(), free_port(), free_port()], &[])
    }

    /// `front`: what starts it, a shell script whose arguments are a folder and a command. `shards`: the native ports of a
    /// cluster.
    pub fn start_by(front: &[&str], ports: [u16; 3], shards: &[u16]) -> ClickHouse {
        let folder = scratch();
        let mut words: Vec<OsString> = front.iter().map(OsString::from).collect();
        if !front.is_empty() {
            words.push(folder.path().into());
        }
        words.push(workspace().join("tools/clickhouse").into());
        words.push(folder.path().into());
        words.extend(ports.iter().chain(shards).map(|port| OsString::from(port.to_string())));
        let [port, ..] = ports;
        let mut started = ClickHouse { server: spawn(&words), port, folder, words };
        wait_for(&mut started.server, port, started.folder.path());
        started
    }

    /// Kills it without a warning.
    pub fn kill(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }

    /// Starts it again with the files that it had.
    pub fn start_again(&mut self) {
        self.server = spawn(&self.words);
        wait_for(&mut self.server, self.port, self.folder.path());
    }

    /// A database of it, perhaps behind another port.
    pub fn store(&self, port: u16, database: &str) -> Store {
        Store { url: format!("clickhouse://127.0.0.1:{port}/{database}") }
    }

    /// What it answers, with the headers.
    pub fn query(&self, text: &str) -> String {
        answer(self.port, text)
    }
}

fn spawn(words: &[OsString]) -> Child {
    Command::new(&words[0]).args(&words[1..]).spawn().unwrap()
}

/// Waits until it answers. A server that ended instead says why in `folder`.
#[track_caller]
fn wait_for(server: &mut Child, port: u16, folder: &Path) {
    wait_until("the server answers", || {
        if let Some(status) = server.try_wait().unwrap() {
            let [output, errors] =
                ["output", "errors"].map(|name| std::fs::read_to_string(folder.join(name)).unwrap_or_default());
            panic!("the server on port {port} ended with {status}:\n{output}\n{errors}");
        }
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
}

fn answer(port: u16, text: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "POST / HTTP/1.0\r\nContent-Length: {}\r\n\r\n{text}", text.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

impl Drop for ClickHouse {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A current engine of ClickHouse, as `readers/clickhouse.py` makes a server of it.
pub struct Current {
    /// The process.
    pub server: Child,
    /// Where it speaks HTTP.
    pub port: u16,
    /// Where its files are.
    pub folder: TempDir,
}

impl Current {
    /// On a port that is free.
    pub fn start() -> Current {
        Current::start_by(&[])
    }

    /// `front`: what starts it, a shell script whose arguments are a folder and a command.
    pub fn start_by(front: &[&str]) -> Current {
        let (folder, port) = (scratch(), free_port());
        let python = target_directory().join("readers/bin/python");
        assert!(python.exists(), "{} is missing: run `make target/readers/ready`", python.display());
        let script = workspace().join("tests/e2e/readers/clickhouse.py");
        let mut words: Vec<OsString> = front.iter().map(OsString::from).collect();
        if !front.is_empty() {
            words.push(folder.path().into());
        }
        words.extend([python.into(), script.into(), folder.path().into(), port.to_string().into()]);
        let mut server = spawn(&words);
        wait_for(&mut server, port, folder.path());
        Current { server, port, folder }
    }

    /// What it answers, with the headers.
    pub fn query(&self, text: &str) -> String {
        answer(self.port, text)
    }

    /// A database of it.
    pub fn store(&self, database: &str) -> Store {
        Store { url: format!("clickhouse://127.0.0.1:{}/{database}", self.port) }
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
