//! The local server. It listens on the loopback address only, on a port that the kernel chooses. The URL that it prints
//! lets a browser in, once: the token in it is exchanged for a cookie. Requests that another site's page could have made
//! are refused: by their `Host` (a name that resolves to this machine), by their `Origin`, and without the cookie.

mod access;
mod ahead;
mod growing;
mod knock;
mod running;
pub mod store_pages;

use crate::ask::{Ask, Page};
use crate::bundle::Bundle;
use crate::engine::Engine;
use crate::no_answer::NoAnswer;
use crate::recordings::{Compared, Recordings, cuts};
use crate::settings::Settings;
use access::{Entry, Guard};
use ahead::Ahead;
use growing::Look;
use knock::Knock;
use memtoll_analysis::finer_chapters::Sliced;
use memtoll_model::Recording;
use memtoll_model::reading::{self, Reading};
use memtoll_query::View;
use memtoll_text::format;
use running::Running;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tiny_http::{Header, Method, Request, Response, Server};

/// What a browser may load and do: only what comes from here, and no code in the page itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Headers of all replies.
const HEADERS: [(&str, &str); 6] = [
    ("Content-Security-Policy", POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
];

/// The page; all else is loaded by it.
const PAGE: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width\">\n<title>memtoll</title>\n\
    <link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/app.css\">\n<div id=\"app\"></div>\n\
    <script src=\"/app.js\" type=\"module\"></script>\n</html>\n";

/// Bytes of a question at the most.
const LONGEST_QUESTION: u64 = 64 << 10;

/// Where the page asks how far a question is, by its number, and ends it.
const READING: &str = "/reading/";
const CANCEL: &str = "/cancel/";

/// Threads that answer: one can be asked for the page while another one adds up.
const THREADS: usize = 8;

/// Pages of the docs that explain the numbers.
const DOCS: [(&str, &str); 3] = [
    ("/docs/metrics.md", include_str!("../../../docs/metrics.md")),
    ("/docs/report.md", include_str!("../../../docs/report.md")),
    ("/docs/viewer.md", include_str!("../../../docs/viewer.md")),
];

pub use growing::Growing;

type Reply = Response<std::io::Cursor<Vec<u8>>>;

/// Why no server listens.
#[derive(Debug, thiserror::Error)]
pub enum CannotListen {
    /// What the system says.
    #[error("cannot listen on 127.0.0.1: {0}")]
    Address(Box<dyn std::error::Error + Send + Sync>),
    /// The server has no port.
    #[error("cannot listen on 127.0.0.1: no port")]
    NoPort,
    /// The token of the link is a random number.
    #[error("cannot read /dev/urandom: {0}")]
    Random(std::io::Error),
    /// No thread can be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

/// A server that listens and does not answer yet.
pub struct Listening {
    server: Server,
    guard: Guard,
    knock: Knock,
}

impl Listening {
    /// Takes a port.
    pub fn new() -> Result<Listening, CannotListen> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = Server::http(address).map_err(CannotListen::Address)?;
        let address = server.server_addr().to_ip().ok_or(CannotListen::NoPort)?;
        let guard = Guard::new(address.port()).map_err(CannotListen::Random)?;
        let knock = Knock::at(address).map_err(CannotListen::Thread)?;
        Ok(Listening { server, guard, knock })
    }

    /// The URL that opens the viewer, once.
    pub fn url(&self) -> String {
        self.guard.url()
    }

    /// What a request may have.
    fn entry(&self, request: &Request) -> Entry {
        self.knock.after_request();
        self.guard.entry(request)
    }

    /// Answers until the process ends.
    pub fn serve(&self, recording: &Recording, compared: Compared, settings: &Settings) {
        self.serve_complete(recording, compared, settings, None);
    }

    fn serve_complete(&self, recording: &Recording, compared: Compared, settings: &Settings, look: Option<&Look>) {
        let sliced = Sliced::new(cuts(recording));
        // A long answer keeps no other question waiting.
        let engines = Engines::of(Recordings::new(recording, compared).with_slices(&sliced).with(settings));
        let work = engines.ahead.begin();
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    while let Ok(request) = self.server.recv() {
                        self.answer(request, &engines, look);
                    }
                });
            }
            // What a page asks first is added up while the browser loads it.
            locked(&engines.selection).prepare();
            scope.spawn(|| locked(&engines.findings).prepare_findings());
            done_behind_others(SLOW_QUESTIONS, || work.done(|| locked(&engines.advice).prepare_advice()));
            // Both at once would take the advice twice as long.
            done_behind_others(NO_QUESTION, || sliced.cut(recording));
        });
    }

    fn answer(&self, mut request: Request, engines: &Engines, look: Option<&Look>) {
        let reply = match self.entry(&request) {
            Entry::Refused(why) => text(403, why),
            Entry::Token(cookie) => with(text(303, ""), &[("Set-Cookie", &cookie), ("Location", "/")]),
            Entry::Known => route(&mut request, engines, look),
        };
        let reply = with(reply, &HEADERS);
        // The browser may be gone.
        let _ = request.respond(reply);
    }
}

/// How far behind other threads one stands that answers slow questions, and one that no question waits for. Further
/// behind, other programs that need the processors would starve them.
const SLOW_QUESTIONS: i32 = 5;
const NO_QUESTION: i32 = 10;

/// Does something in a thread that, with those that it starts, leaves the processors to threads that answer.
fn done_behind_others<T: Send>(nice: i32, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            // SAFETY: system calls without memory. 0 is the calling thread. It never gets a higher priority: root could.
            let _ =
                unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice.max(libc::getpriority(libc::PRIO_PROCESS, 0))) };
            work()
        });
        other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// One for each kind of question: each answers one at a time.
struct Engines<'a> {
    /// Of what is selected.
    selection: Mutex<Engine<'a>>,
    /// Of what the recording is, and what happens when.
    time: Mutex<Engine<'a>>,
    /// The same, divided among functions or types.
    stacked: Mutex<Engine<'a>>,
    /// Of what is worth a look in a selection.
    findings: Mutex<Engine<'a>>,
    /// Of what to change. The page asks for it while it waits for its first view, so it stands behind the others.
    advice: Mutex<Engine<'a>>,
    /// Others of whole recordings, which stand behind, too.
    slow: Mutex<Engine<'a>>,
    ahead: Ahead,
    running: Running,
}

impl<'a> Engines<'a> {
    fn of(open: Recordings<'a>) -> Engines<'a> {
        let selection = Engine::new(open);
        let [time, stacked, findings, advice, slow] = [(); 5].map(|()| Mutex::new(selection.again()));
        Engines {
            selection: Mutex::new(selection),
            time,
            stacked,
            findings,
            advice,
            slow,
            ahead: Ahead::default(),
            running: Running::default(),
        }
    }
}

/// A question that made another thread panic says nothing about this one.
fn locked<'e, 'a>(engine: &'e Mutex<Engine<'a>>) -> MutexGuard<'e, Engine<'a>> {
    engine.lock().unwrap_or_else(PoisonError::into_inner)
}

fn route(request: &mut Request, engines: &Engines, look: Option<&Look>) -> Reply {
    let path = request.url().split('?').next().unwrap_or("").to_owned();
    let bundle = Bundle::embedded();
    match (request.method(), path.as_str()) {
        (Method::Get, "/") => body("text/html; charset=utf-8", PAGE),
        (Method::Get, "/app.js") => body("text/javascript; charset=utf-8", &bundle.script),
        (Method::Get, "/app.css") => body("text/css; charset=utf-8", &bundle.style),
        (Method::Get, "/licenses.txt") => body("text/plain; charset=utf-8", &bundle.licenses),
        (Method::Post, "/answer") => answer(request, engines),
        (Method::Get, "/live") => match look {
            Some(look) => body("application/json", &look.state().to_string()),
            None => text(404, "This recording is complete."),
        },
        (Method::Get, path) if path.starts_with(READING) => {
            // `null`: it is answered.
            let events = engines.running.of(&path[READING.len()..]).map(|reading| reading.events());
            body("application/json", &serde_json::json!({ "events": events }).to_string())
        }
        (Method::Post, path) if path.starts_with(CANCEL) => {
            engines.running.of(&path[CANCEL.len()..]).inspect(|reading| reading.cancel());
            engines.ahead.wake();
            text(200, "")
        }
        (Method::Post, "/mark") => mark(request, look),
        (Method::Post, "/look") => look_now(request, look),
        (Method::Get, path) => match DOCS.iter().find(|(known, _)| *known == path) {
            Some((_, page)) => text(200, page),
            None => text(404, "There is nothing here."),
        },
        _ => text(404, "There is nothing here."),
    }
}

fn mark(request: &mut Request, look: Option<&Look>) -> Reply {
    let mut name = String::new();
    let is_read = request.as_reader().take(LONGEST_QUESTION).read_to_string(&mut name).is_ok();
    match look.filter(|_| is_read).and_then(|look| look.mark(&name)) {
        Some(marked) => body("application/json", &marked.to_string()),
        None => text(422, "The program has exited; no mark was set."),
    }
}

fn look_now(request: &mut Request, look: Option<&Look>) -> Reply {
    let mut pid = String::new();
    let is_read = request.as_reader().take(LONGEST_QUESTION).read_to_string(&mut pid).is_ok();
    match look.filter(|_| is_read).map(|look| look.look(&pid)) {
        Some(Ok(looked)) => body("application/json", &looked.to_string()),
        Some(Err(why)) => text(422, &why),
        None => text(422, "This recording is complete."),
    }
}

fn answer(request: &mut Request, engines: &Engines) -> Reply {
    if let Some(bytes) = request.body_length().map(|bytes| bytes as u64).filter(|bytes| *bytes > LONGEST_QUESTION) {
        let [found, most] = [bytes, LONGEST_QUESTION].map(|bytes| format::counted(bytes, "byte"));
        return text(
            413,
            &format!(
                "The filter is too long, or there are too many cuts: this question has {found}, and at most {most} are read."
            ),
        );
    }
    let mut question = String::new();
    if request.as_reader().take(LONGEST_QUESTION).read_to_string(&mut question).is_err() {
        return text(400, "expected a question in UTF-8");
    }
    let ask: Ask = match serde_json::from_str(&question) {
        Ok(ask) => ask,
        Err(error) => return text(400, &format!("expected a question as JSON: {error}")),
    };
    let engine = match (&ask.page, &ask.query.view) {
        (Page::Advice, _) => &engines.advice,
        (Page::Changes(_) | Page::Memory { .. } | Page::Layout { .. }, _) => &engines.slow,
        (Page::About, _) | (Page::Shown, View::Activity { .. } | View::Lanes { .. }) => &engines.time,
        (Page::Stacked { .. }, _) => &engines.stacked,
        (Page::Findings, _) => &engines.findings,
        _ => &engines.selection,
    };
    let is_of_advice = std::ptr::eq(engine, &engines.advice);
    let is_slow = is_of_advice || std::ptr::eq(engine, &engines.slow);
    // The page may ask how far it is, and end it.
    let named = request.headers().iter().find(|header| header.field.equiv("X-Question"));
    let number = named.and_then(|header| header.value.as_str().parse().ok());
    let reading = if is_of_advice { engines.ahead.waiting() } else { Reading::default() };
    let wanted = engines.running.begin(number, reading);
    if is_of_advice {
        engines.ahead.wait(&wanted);
    }
    let mut engine = locked(engine);
    let answer = match wanted.is_cancelled() {
        true => Err(NoAnswer::Cancelled),
        false => {
            let engine = &mut *engine;
            let mut answer = || reading::during(Some(wanted.clone()), || engine.answer(&ask));
            if is_slow { done_behind_others(SLOW_QUESTIONS, answer) } else { answer() }
        }
    };
    let answer = match wanted.is_cut() {
        true => {
            engine.forget();
            Err(NoAnswer::Cancelled)
        }
        false => answer,
    };
    drop(engine);
    engines.running.end(number);
    match answer {
        Ok(pack) => with(Response::from_data(pack.bytes()), &[("Content-Type", "application/octet-stream")]),
        Err(why) => text(if why.is_nothing() { 404 } else { 422 }, &why.to_string()),
    }
}

fn body(kind: &str, text: &str) -> Reply {
    with(Response::from_data(text), &[("Content-Type", kind)])
}

fn text(status: u16, text: &str) -> Reply {
    body("text/plain; charset=utf-8", text).with_status_code(status)
}

/// Adds headers. All of ours are plain ASCII, which is what they must be.
fn with(mut reply: Reply, headers: &[(&str, &str)]) -> Reply {
    headers
        .iter()
        .filter_map(|(name, value)| Header::from_bytes(*name, *value).ok())
        .for_each(|header| reply.add_header(header));
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_questions_stand_behind_others() {
        // SAFETY: a system call without memory. 0 is the calling thread.
        let nice = || unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        let before = nice();
        assert_eq!(done_behind_others(SLOW_QUESTIONS, nice), before.max(SLOW_QUESTIONS));
        assert_eq!(nice(), before);
    }
}
