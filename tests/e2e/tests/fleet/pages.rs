//! `memtoll view --store`: pages of what a store answers.

use super::store::{Store, recording};
use memtoll_e2e::{Target, memtoll, program, scratch};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// A viewer; it ends with this.
struct Viewer {
    process: Child,
    host: String,
    token: String,
}

impl Viewer {
    fn start(store: &Store) -> Viewer {
        let mut command = Command::new(memtoll());
        command.args(["view", "--no-open", "--store", &store.url]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let (host, token) = url.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
        let (host, token) = (host.to_owned(), format!("/{token}"));
        Viewer { process, host, token }
    }

    /// What it answers: headers and text.
    fn get(&self, url: &str, headers: &[String]) -> (String, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        write!(stream, "GET {url} HTTP/1.0\r\n{headers}\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_store_has_pages_for_whoever_has_the_link() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    store.add(&[&recording("50")], &["version=1.4"]);
    store.add(&[&recording("90")], &["version=1.5", "note=<b>&\"'"]);
    store.add(&[&Target::new(program("hostile_names.c")).record()], &["version=1.6"]);
    let viewer = Viewer::start(&store);
    let host = format!("Host: {}", viewer.host);
    assert!(viewer.get("/", std::slice::from_ref(&host)).0.contains(" 403 "), "without the link");
    assert!(viewer.get(&viewer.token, &["Host: evil.example".to_owned()]).0.contains(" 403 "), "under another name");
    let (head, _) = viewer.get(&viewer.token, std::slice::from_ref(&host));
    assert!(head.contains(" 303 "), "{head}");
    let cookie = head.split_once("Set-Cookie: ").unwrap().1.split(';').next().unwrap();
    let known = [host, format!("Cookie: {cookie}")];
    let foreign = [known.to_vec(), vec!["Origin: http://evil.example".to_owned()]].concat();
    assert!(viewer.get("/", &foreign).0.contains(" 403 "), "from another site");

    let get = |url: &str| {
        let (head, body) = viewer.get(url, &known);
        assert!(head.contains(" 200 "), "{url}: {head}");
        assert!(head.contains("Content-Security-Policy: default-src 'none';"), "{head}");
        assert!(!body.contains("<script") && !body.contains("<img") && !body.contains("<b>"), "{body}");
        body
    };
    let top = get("/?metric=allocations");
    assert!(top.contains("&lt;img src=x onerror=alert(1)&gt;&amp;lt;"), "{top}");
    assert!(top.contains("<bdi>140</bdi>") && top.contains("[budget"), "{top}");
    assert!(get("/trend?metric=allocations").contains(">1.6<"));
    let compare = get("/compare?metric=allocations&before=version%3D1.4&after=version%3D1.5");
    assert!(compare.contains("<bdi>+40</bdi>"), "{compare}");
    assert!(viewer.get("/nowhere", &known).0.contains(" 404 "));
}
