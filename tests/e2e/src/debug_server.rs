//! Servers of debug files on the loopback: elfutils' own, and some that are of no use.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// elfutils' `debuginfod`. It ends with this value.
pub struct Debuginfod {
    child: Child,
    port: u16,
}

impl Debuginfod {
    /// Serves the files in `folder`; waits until the one with this build id is there. `scratch` takes its data base.
    #[track_caller]
    pub fn start(folder: &Path, scratch: &Path, build_id: &str) -> Debuginfod {
        let port = free_port();
        let mut command = Command::new("debuginfod");
        command.arg("-F").arg("-d").arg(scratch.join("debuginfod.sqlite")).args(["-p", &port.to_string()]).arg(folder);
        command.env_remove("DEBUGINFOD_URLS").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}: is it installed?"));
        let server = Debuginfod { child, port };
        crate::wait_until("debuginfod has read its files", || server.has(build_id));
        server
    }

    /// What goes into `DEBUGINFOD_URLS`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn has(&self, build_id: &str) -> bool {
        let ask = || -> std::io::Result<bool> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            write!(stream, "GET /buildid/{build_id}/debuginfo HTTP/1.0\r\n\r\n")?;
            let mut start = [0; 12];
            stream.read_exact(&mut start)?;
            Ok(start.ends_with(b"200"))
        };
        ask().unwrap_or(false)
    }
}

impl Drop for Debuginfod {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port on which no server listens, and which nobody else gets: it lies below those that the kernel hands out for connections
/// and for port 0, and no other test of this process has had it.
pub fn free_port() -> u16 {
    const FIRST: u32 = 10_000;
    const LAST: u32 = 30_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    (0..LAST - FIRST)
        .map(|_| {
            let number = std::process::id().wrapping_mul(97).wrapping_add(NEXT.fetch_add(1, SeqCst));
            (FIRST + number % (LAST - FIRST)) as u16
        })
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a port on the loopback")
}

/// What a server that is of no use answers.
#[derive(Clone)]
pub enum Answer {
    /// It does not have the file.
    NotFound,
    /// It is broken.
    Error,
    /// This file, whatever was asked for.
    File(Vec<u8>),
    /// It promises a megabyte and sends a byte now and then.
    Trickle,
    /// Nothing at all.
    Silence,
    /// The beginning of a file.
    HalfOf(Vec<u8>),
}

/// A server that answers every request in the same way. It ends with the process.
pub struct BadServer {
    port: u16,
    requests: Arc<AtomicUsize>,
}

impl BadServer {
    /// Starts it.
    pub fn start(answer: Answer) -> BadServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port on the loopback");
        let port = listener.local_addr().expect("its number").port();
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = answer.clone();
                counter.fetch_add(1, SeqCst);
                std::thread::spawn(move || respond(stream, answer));
            }
        });
        BadServer { port, requests }
    }

    /// What goes into `DEBUGINFOD_URLS`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// How often it was asked.
    pub fn requests(&self) -> usize {
        self.requests.load(SeqCst)
    }
}

/// The client may be gone before the whole answer is sent.
fn respond(mut stream: TcpStream, answer: Answer) -> Option<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        request.push(byte[0]);
    }
    let mut send = |head: &str, length: usize, body: &[u8]| {
        let head = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).ok()
    };
    match answer {
        Answer::NotFound => send("404 Not Found", 0, b""),
        Answer::Error => send("500 Internal Server Error", 0, b""),
        Answer::File(bytes) => send("200 OK", bytes.len(), &bytes),
        Answer::HalfOf(bytes) => send("200 OK", bytes.len(), &bytes[..bytes.len() / 2]),
        Answer::Trickle => {
            send("200 OK", 1 << 20, b"")?;
            loop {
                stream.write_all(b"x").ok()?;
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Answer::Silence => {
            // Until the other side has enough.
            let _ = stream.read(&mut [0]);
            None
        }
    }
}
