//! Connections that break.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Stands between memtoll and a server, and breaks the connection once: before the server gets a request that has `words`, or
/// after the server has answered it.
pub struct Breaking {
    /// Where it listens.
    pub port: u16,
    /// 1 when the request came, 2 when its answer did.
    pub broken: Arc<AtomicUsize>,
}

/// What happens to the connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Broken {
    /// It ends before the server has got the request.
    Before,
    /// It ends before memtoll has got the answer.
    After,
    /// Nothing moves any more before the server has got it.
    HeldBefore,
    /// Nothing moves any more before memtoll has got the answer.
    HeldAfter,
}

impl Breaking {
    /// Stands before port `to`.
    pub fn start(to: u16, words: &'static str, how: Broken) -> Breaking {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let broken = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&broken);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else { return };
                Breaking::carry(&stream, &server, words, how, &count);
            }
        });
        Breaking { port, broken }
    }

    /// Carries bytes both ways, each in a thread of its own, until one side is done.
    fn carry(client: &TcpStream, server: &TcpStream, words: &'static str, how: Broken, count: &Arc<AtomicUsize>) {
        let both = || [client.try_clone().unwrap(), server.try_clone().unwrap()];
        // Whether what the server says next is the answer to the request that is meant.
        let meant = Arc::new(AtomicUsize::new(0));
        let ([client_in, server_out], [client_out, server_in]) = (both(), both());
        let (count_here, meant_here, count) = (Arc::clone(count), Arc::clone(&meant), Arc::clone(count));
        std::thread::spawn(move || {
            Breaking::pump(&client_in, &server_out, |bytes| {
                let is_meant = bytes.windows(words.len()).any(|window| window.eq_ignore_ascii_case(words.as_bytes()));
                if !is_meant || count_here.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_err() {
                    return true;
                }
                meant_here.store(1, Ordering::SeqCst);
                if how == Broken::HeldBefore {
                    Breaking::hold();
                }
                how != Broken::Before
            });
        });
        std::thread::spawn(move || {
            Breaking::pump(&server_in, &client_out, |_| {
                let goes_on = meant.load(Ordering::SeqCst) == 0;
                if !goes_on && how == Broken::HeldAfter {
                    count.store(2, Ordering::SeqCst);
                    Breaking::hold();
                }
                goes_on
            });
        });
    }

    /// Until the test is over.
    fn hold() {
        std::thread::sleep(Duration::from_secs(3600));
    }

    /// Carries bytes as long as `goes_on`; then both connections end.
    fn pump(mut from: &TcpStream, mut to: &TcpStream, goes_on: impl Fn(&[u8]) -> bool) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            if !goes_on(&buffer[..read]) || to.write_all(&buffer[..read]).is_err() {
                break;
            }
        }
        let _ = from.shutdown(std::net::Shutdown::Both);
        let _ = to.shutdown(std::net::Shutdown::Both);
    }
}
