//! One file from one server.

use std::fs::File;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig};

use crate::settings::Settings;

/// Bytes that a server must hand out each time [`Settings::patience`] has passed.
const LEAST: u64 = 100 << 10;
/// A server that cannot even be connected to is away.
const LONGEST_CONNECT: Duration = Duration::from_secs(10);

/// Why there is no file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The server does not have it.
    #[error("does not have it")]
    NotThere,
    /// It is longer than the user wants.
    #[error("of more than {0} bytes (DEBUGINFOD_MAXSIZE)")]
    TooLarge(u64),
    /// It is another one.
    #[error("with another build id, or none")]
    WrongFile,
    /// The server did not send it, or too slowly.
    #[error("{0}")]
    Server(String),
    /// It cannot be written.
    #[error("{0}")]
    Write(std::io::Error),
}

/// An agent for all requests.
pub(crate) fn agent(settings: &Settings) -> Agent {
    let patience = settings.patience;
    let connect = Some(patience.map_or(LONGEST_CONNECT, |patience| patience.min(LONGEST_CONNECT)));
    // Certificates that the system trusts: servers of a company have one of its own.
    let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
    Agent::config_builder()
        .user_agent(concat!("memtoll/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(connect)
        .timeout_connect(connect)
        .timeout_recv_response(patience)
        .timeout_per_read(patience)
        .timeout_global(settings.longest)
        .tls_config(tls)
        .build()
        .new_agent()
}

/// Fetches `url` into `file`. `progress` receives the bytes so far, and the size if it is known.
pub(crate) fn fetch(
    agent: &Agent,
    url: &str,
    settings: &Settings,
    file: &mut File,
    mut progress: impl FnMut(u64, Option<u64>),
) -> Result<u64, Error> {
    let mut response = agent.get(url).call().map_err(|error| failure(&error))?;
    let length = response.body().content_length().filter(|length| *length > 0);
    let largest = settings.largest.unwrap_or(u64::MAX);
    if length.is_some_and(|length| length > largest) {
        return Err(Error::TooLarge(largest));
    }
    let mut body = response.body_mut().with_config().limit(u64::MAX).reader();
    let mut buffer = vec![0; 1 << 16];
    let mut pace = Pace::start(settings.patience);
    let mut bytes = 0;
    loop {
        let part = body.read(&mut buffer).map_err(|error| {
            let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>());
            inner.map_or_else(|| Error::Server(format!("broke off: {error}")), failure)
        })?;
        if part == 0 {
            break;
        }
        bytes += part as u64;
        if bytes > largest {
            return Err(Error::TooLarge(largest));
        }
        file.write_all(&buffer[..part]).map_err(Error::Write)?;
        progress(bytes, length);
        pace.is_kept(bytes)?;
    }
    match length {
        Some(length) if length != bytes => Err(Error::Server(format!("sent {bytes} of {length} bytes"))),
        _ => Ok(bytes),
    }
}

/// Whether a server is fast enough.
struct Pace {
    patience: Option<Duration>,
    since: Instant,
    bytes: u64,
}

impl Pace {
    fn start(patience: Option<Duration>) -> Pace {
        Pace { patience, since: Instant::now(), bytes: 0 }
    }

    fn is_kept(&mut self, bytes: u64) -> Result<(), Error> {
        let Some(patience) = self.patience.filter(|patience| self.since.elapsed() >= *patience) else {
            return Ok(());
        };
        if bytes - self.bytes < LEAST {
            return Err(Error::Server(too_slow(patience)));
        }
        *self = Pace { bytes, ..Pace::start(self.patience) };
        Ok(())
    }
}

fn too_slow(patience: Duration) -> String {
    format!("sent less than 100 KiB in {} s (DEBUGINFOD_TIMEOUT)", patience.as_secs())
}

fn failure(error: &ureq::Error) -> Error {
    match error {
        ureq::Error::StatusCode(404 | 410) => Error::NotThere,
        ureq::Error::StatusCode(status) => Error::Server(format!("answered with HTTP status {status}")),
        ureq::Error::HostNotFound => Error::Server("has a name that is not known".to_owned()),
        ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            Error::Server("could not be reached in time".to_owned())
        }
        ureq::Error::Timeout(ureq::Timeout::Global) => {
            Error::Server("was not done in time (DEBUGINFOD_MAXTIME)".to_owned())
        }
        ureq::Error::Timeout(_) => Error::Server("did not answer in time (DEBUGINFOD_TIMEOUT)".to_owned()),
        ureq::Error::Io(error) => Error::Server(format!("cannot be reached: {error}")),
        other => Error::Server(format!("failed: {other}")),
    }
}
