//! A web server with four threads, and four clients that ask it: the argument says how many pages each. Prints a sum of all pages.
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn page(number: u64, kept: &mut Vec<Vec<u8>>) -> String {
    let values: HashMap<String, String> = (0..20).map(|i| (format!("key{i}"), format!("value {}", i * number))).collect();
    if number % 10 == 0 {
        kept.push(vec![number as u8; 1000]);
    }
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort();
    values.iter().map(|(key, value)| format!("{key}={value}\n")).collect()
}

fn serve(server: &tiny_http::Server) -> usize {
    let mut kept = Vec::new();
    while let Ok(request) = server.recv() {
        let url = request.url().to_owned();
        if url == "/quit" {
            let _ = request.respond(tiny_http::Response::from_string("bye"));
            break;
        }
        let body = page(url[1..].parse().unwrap_or(0), &mut kept);
        let _ = request.respond(tiny_http::Response::from_string(body));
    }
    kept.len()
}

fn ask(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "GET /{path} HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split("\r\n\r\n").nth(1).unwrap_or("").to_owned()
}

fn main() {
    let pages: u64 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(500);
    let server = Arc::new(tiny_http::Server::http("127.0.0.1:0").unwrap());
    let port = server.server_addr().to_ip().unwrap().port();
    let workers: Vec<_> = (0..4).map(|_| std::thread::spawn({ let server = server.clone(); move || serve(&server) })).collect();
    let client = |number: u64| move || {
        let bodies = (0..pages).map(|page| ask(port, &(number * pages + page).to_string()));
        bodies.fold(0u64, |sum, body| body.bytes().fold(sum, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())))
    };
    let clients: Vec<_> = (0..4u64).map(|number| std::thread::spawn(client(number))).collect();
    let sum = clients.into_iter().fold(0u64, |sum, client| sum.wrapping_add(client.join().unwrap()));
    (0..4).for_each(|_| drop(ask(port, "quit")));
    let kept: usize = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
    println!("sum {sum:x}, kept {kept}");
}
