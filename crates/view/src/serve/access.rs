//! Who gets in.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use tiny_http::{Header, Request};

/// What becomes of a request.
pub enum Entry {
    /// It comes from the page.
    Known,
    /// It brings the token: it gets this cookie.
    Token(String),
    /// It is refused, for this reason.
    Refused(&'static str),
}

/// Checks requests.
pub struct Guard {
    port: u16,
    token: String,
    used: std::sync::atomic::AtomicBool,
    session: String,
}

impl Guard {
    /// With a new token and a new session.
    pub fn new(port: u16) -> std::io::Result<Guard> {
        Ok(Guard { port, token: secret()?, used: false.into(), session: secret()? })
    }

    /// Opens the viewer, once.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.port, self.token)
    }

    /// What becomes of a request.
    pub fn entry(&self, request: &Request) -> Entry {
        let of = |name: &'static str| request.headers().iter().find(|header| header.field.equiv(name));
        self.check(request.url(), of("Host"), of("Origin"), of("Sec-Fetch-Site"), of("Cookie"))
    }

    fn check(
        &self,
        url: &str,
        host: Option<&Header>,
        origin: Option<&Header>,
        site: Option<&Header>,
        cookie: Option<&Header>,
    ) -> Entry {
        let value = |header: Option<&Header>| header.map(|header| header.value.as_str().to_owned());
        let hosts = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        if !value(host).is_some_and(|host| hosts.contains(&host)) {
            return Entry::Refused("This server answers to 127.0.0.1 only.");
        }
        let is_own = |origin: String| hosts.iter().any(|host| origin.strip_prefix("http://") == Some(host));
        if !value(origin).is_none_or(is_own) {
            return Entry::Refused("Requests of other sites are refused.");
        }
        let known = format!("{}={}", self.cookie_name(), self.session);
        let is_known = value(cookie).is_some_and(|all| all.split(';').any(|cookie| same(cookie.trim(), &known)));
        let token = url.strip_prefix("/?token=");
        if let Some(token) = token
            && (is_known || same(token, &self.token) && !self.used.swap(true, std::sync::atomic::Ordering::Relaxed))
        {
            return Entry::Token(format!("{known}; Path=/; HttpOnly; SameSite=Strict"));
        }
        let is_cross = value(site).is_some_and(|site| site == "cross-site");
        match (is_known && !is_cross, token) {
            (true, _) => Entry::Known,
            (false, Some(_)) => Entry::Refused(
                "This link was used already, or is not this viewer's. Use the browser that opened it, or run memtoll view \
                 again.",
            ),
            (false, None) => Entry::Refused("Open the link that memtoll view printed."),
        }
    }

    /// Cookies are not told apart by port.
    fn cookie_name(&self) -> String {
        format!("memtoll_{}", self.port)
    }
}

/// Compares texts in a time that does not depend on where they differ.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | a ^ b) == 0
}

/// 256 random bits, in hexadecimal digits.
fn secret() -> std::io::Result<String> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(entry: Entry) -> &'static str {
        match entry {
            Entry::Known => "known",
            Entry::Token(_) => "token",
            Entry::Refused(_) => "refused",
        }
    }

    fn header(name: &str, value: &str) -> Option<Header> {
        Some(Header::from_bytes(name, value).unwrap())
    }

    fn check(guard: &Guard, url: &str, host: &str, origin: Option<&str>, cookie: Option<&str>) -> &'static str {
        let origin = origin.and_then(|origin| header("Origin", origin));
        let cookie = cookie.and_then(|cookie| header("Cookie", cookie));
        is(guard.check(url, header("Host", host).as_ref(), origin.as_ref(), None, cookie.as_ref()))
    }

    #[test]
    fn the_token_is_good_once() {
        let guard = Guard::new(4000).unwrap();
        let link = guard.url().strip_prefix("http://127.0.0.1:4000").unwrap().to_owned();
        let host = "127.0.0.1:4000";
        assert_eq!(check(&guard, "/", host, None, None), "refused");
        assert_eq!(check(&guard, "/?token=0", host, None, None), "refused");
        assert_eq!(check(&guard, &link, "evil.example:4000", None, None), "refused");
        assert_eq!(check(&guard, &link, host, None, None), "token");
        assert_eq!(check(&guard, &link, host, None, None), "refused");
        let cookie = format!("a=b; memtoll_4000={}", guard.session);
        assert_eq!(check(&guard, &link, host, None, Some(&cookie)), "token");
        assert_eq!(check(&guard, "/", host, None, Some(&cookie)), "known");
        assert_eq!(check(&guard, "/", "localhost:4000", None, Some(&cookie)), "known");
        assert_eq!(check(&guard, "/", "evil.example", None, Some(&cookie)), "refused");
        assert_eq!(check(&guard, "/answer", host, Some("http://127.0.0.1:4000"), Some(&cookie)), "known");
        for origin in ["http://evil.example", "null", "https://127.0.0.1:4000", "http://127.0.0.1:4001"] {
            assert_eq!(check(&guard, "/answer", host, Some(origin), Some(&cookie)), "refused", "{origin}");
        }
        let site = header("Sec-Fetch-Site", "cross-site");
        let cookie = header("Cookie", &cookie);
        let host = header("Host", host);
        assert_eq!(is(guard.check("/answer", host.as_ref(), None, site.as_ref(), cookie.as_ref())), "refused");
    }
}
