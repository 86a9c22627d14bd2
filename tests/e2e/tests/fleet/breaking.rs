//! Connections that break.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Stands between memtoll and a server, and breaks the connection once: before the server gets a request that has `words`, in
/// the middle of it, or after the server has answered it.
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
    /// It ends when the server has got a part of the request's data.
    Within,
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
                let is_data = meant_here.load(Ordering::SeqCst) == 1;
                let is_meant = bytes.windows(words.len()).any(|window| window.eq_ignore_ascii_case(words.as_bytes()));
                let is_first =
                    is_meant && count_here.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_ok();
                if is_first {
                    meant_here.store(1, Ordering::SeqCst);
                }
                match how {
                    Broken::Before if is_first => 0,
                    Broken::HeldBefore if is_first => Breaking::hold(),
                    // Data may come together with what stands before it, or later.
                    Broken::Within if is_first || is_data => {
                        let head = bytes.windows(4).position(|window| window == b"\r\n\r\n").map_or(0, |end| end + 4);
                        let begin = if is_first { head } else { 0 };
                        begin + (bytes.len() - begin) / 2 + usize::from(begin == bytes.len())
                    }
                    _ => bytes.len(),
                }
            });
        });
        std::thread::spawn(move || {
            Breaking::pump(&server_in, &client_out, |bytes| {
                if meant.load(Ordering::SeqCst) == 0 {
                    return bytes.len();
                }
                if how == Broken::HeldAfter {
                    count.store(2, Ordering::SeqCst);
                    Breaking::hold();
                }
                0
            });
        });
    }

    /// Until the test is over.
    fn hold() -> ! {
        loop {
            std::thread::sleep(Duration::from_secs(3600));
        }
    }

    /// Carries of all bytes as many as `carried` says; when these are not all, both connections end.
    fn pump(mut from: &TcpStream, mut to: &TcpStream, carried: impl Fn(&[u8]) -> usize) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let number = carried(&buffer[..read]);
            if to.write_all(&buffer[..number.min(read)]).is_err() || number < read {
                break;
            }
        }
        let _ = from.shutdown(std::net::Shutdown::Both);
        let _ = to.shutdown(std::net::Shutdown::Both);
    }
}
