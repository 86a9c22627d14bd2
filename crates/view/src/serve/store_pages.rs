//! Pages that are made here as a whole, without the front end: those of a fleet's store. Who gets in, and what a browser may
//! do, is as with the viewer; there are no scripts, so nothing is asked but for pages.

use super::access::Entry;
use super::{HEADERS, Listening, THREADS, body, text, with};
use tiny_http::Method;

pub struct Page {
    /// HTTP's status.
    pub status: u16,
    /// Its media type.
    pub kind: &'static str,
    /// Its text.
    pub body: String,
}

impl Listening {
    /// Answers until the process ends. `page` is called with an address on this server, which begins with `/`.
    pub fn serve_pages(&self, page: &(dyn Fn(&str) -> Page + Sync)) {
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    while let Ok(request) = self.server.recv() {
                        let reply = match self.entry(&request) {
                            Entry::Refused(why) => text(403, why),
                            Entry::Token(cookie) => with(text(303, ""), &[("Set-Cookie", &cookie), ("Location", "/")]),
                            Entry::Known if *request.method() == Method::Get => {
                                let page = page(request.url());
                                body(page.kind, &page.body).with_status_code(page.status)
                            }
                            Entry::Known => text(405, "There are only pages here."),
                        };
                        // The browser may be gone.
                        let _ = request.respond(with(reply, &HEADERS));
                    }
                });
            }
        });
    }
}
