//! No connection waits for a thread that never comes.
//!
//! tiny_http 0.12 gives a connection to an idle thread of its pool, or to a new one if none is idle. A thread that is waking up for a
//! connection still counts as idle: where a browser opens several at once, one of them lies in a queue until a thread has nothing to
//! do, and threads of connections that stay open never have. A connection that ends at once makes a thread that then takes it.

use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::time::Duration;

/// Pauses before further such connections: the one that waits may come after the request of another.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];

/// Opens and ends connections whenever there was a request.
pub(super) struct Knock(SyncSender<()>);

impl Knock {
    /// Of the server at an address.
    ///
    /// # Errors
    ///
    /// No thread can be started.
    pub fn at(address: SocketAddr) -> std::io::Result<Knock> {
        let (sender, requests) = mpsc::sync_channel(1);
        std::thread::Builder::new().name("knock".to_owned()).spawn(move || {
            let mut pauses = PAUSES[..0].iter();
            loop {
                let heard = match pauses.next() {
                    Some(pause) => requests.recv_timeout(*pause),
                    None => requests.recv().map_err(RecvTimeoutError::from),
                };
                match heard {
                    Ok(()) => pauses = PAUSES.iter(),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                // A server that is gone needs none.
                let _ = TcpStream::connect(address);
            }
        })?;
        Ok(Knock(sender))
    }

    pub fn after_request(&self) {
        // If one is on its way already, that is enough.
        let _ = self.0.try_send(());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::Listening;
    use std::io::{Read, Write};

    /// More connections at once than tiny_http has idle threads, all of which stay open. Whether one has to wait is a matter of luck.
    #[test]
    fn each_of_many_connections_has_an_answer() {
        for _ in 0..30 {
            let listening = Listening::new().unwrap();
            let address = listening.server.server_addr().to_ip().unwrap();
            std::thread::spawn(move || listening.serve_pages(&|_| unreachable!("no request has the token")));
            let mut all: Vec<TcpStream> = (0..12).map(|_| TcpStream::connect(address).unwrap()).collect();
            for connection in &mut all {
                connection.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
                connection.write_all(format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).unwrap();
            }
            for (number, connection) in all.iter_mut().enumerate() {
                let mut begin = [0; 12];
                connection.read_exact(&mut begin).unwrap_or_else(|why| panic!("connection {number}: {why}"));
                assert_eq!(&begin, b"HTTP/1.1 403");
            }
        }
    }
}
