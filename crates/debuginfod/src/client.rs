//! Asks the servers, one after the other.

use std::path::Path;

use ureq::Agent;

use crate::cache::{Cache, Known};
use crate::http::{self, Error};
use crate::settings::Settings;

/// Receives the progress of a download.
pub trait Progress {
    /// Bytes of the debug file of `name` that are here, and all of them if that is known.
    fn part(&mut self, name: &str, bytes: u64, all: Option<u64>);
    /// The download is over. `Ok`: the bytes that came, and the server.
    fn done(&mut self, name: &str, server: &str, bytes: Option<u64>);
}

/// What a server answered in this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub server: String,
    /// Files whose debug files it lacks.
    pub lacks: Vec<String>,
    /// Debug files that it has, and why they are not used.
    pub unusable: Vec<String>,
    /// Why it is not asked any more.
    pub failure: Option<String>,
}

/// A client of debuginfod's servers.
pub struct Client<'a> {
    settings: Settings,
    cache: Option<Cache>,
    agent: Agent,
    servers: Vec<Answer>,
    /// Files that no server had a few minutes ago.
    remembered: Vec<String>,
    /// Why nothing can be fetched.
    failure: Option<String>,
    is_right: &'a dyn Fn(&Path, &str) -> bool,
    progress: &'a mut dyn Progress,
}

impl<'a> Client<'a> {
    /// A client. `is_right` says whether a file is the debug file of a build id: servers may be wrong, and caches damaged.
    pub fn new(settings: Settings, is_right: &'a dyn Fn(&Path, &str) -> bool, progress: &'a mut dyn Progress) -> Self {
        let unasked =
            |server: &String| Answer { server: server.clone(), lacks: Vec::new(), unusable: Vec::new(), failure: None };
        Client {
            cache: settings.cache.clone().map(Cache::new),
            agent: http::agent(&settings),
            servers: settings.servers.iter().map(unasked).collect(),
            remembered: Vec::new(),
            failure: None,
            settings,
            is_right,
            progress,
        }
    }

    /// Sees to it that the debug file of a build id (hexadecimal digits) is in the cache. `name` is what the file is called
    /// that it belongs to. Returns whether it is there.
    pub fn fetch(&mut self, build_id: &str, name: &str) -> bool {
        let Some(cache) = &self.cache else {
            self.failure = Some("no folder for its cache: set DEBUGINFOD_CACHE_PATH".to_owned());
            return false;
        };
        match cache.look_up(build_id) {
            Known::File if (self.is_right)(&cache.place(build_id), build_id) => return true,
            Known::Missing => {
                self.remembered.push(name.to_owned());
                return false;
            }
            Known::File | Known::Nothing => {}
        }
        let mut is_missing = !self.servers.is_empty();
        for index in 0..self.servers.len() {
            if self.servers[index].failure.is_some() || self.failure.is_some() {
                continue;
            }
            match self.fetch_from(index, build_id, name) {
                Ok(()) => return true,
                Err(Error::NotThere) => self.servers[index].lacks.push(name.to_owned()),
                Err(Error::Write(error)) => {
                    let folder = self.cache.as_ref().map(|cache| cache.folder().display().to_string());
                    self.failure = Some(format!("cannot write its cache {}: {error}", folder.unwrap_or_default()));
                }
                Err(error @ (Error::TooLarge(_) | Error::WrongFile)) => {
                    self.servers[index].unusable.push(format!("a file for {name} {error}"));
                    is_missing = false;
                }
                // The next file would take as long.
                Err(Error::Server(failure)) => self.servers[index].failure = Some(failure),
            }
        }
        // A server that did not answer may have it.
        is_missing &= self.failure.is_none() && self.servers.iter().all(|server| server.failure.is_none());
        if let Some(cache) = self.cache.as_ref().filter(|_| is_missing) {
            cache.note_missing(build_id);
        }
        false
    }

    fn fetch_from(&mut self, index: usize, build_id: &str, name: &str) -> Result<(), Error> {
        let Some(cache) = &self.cache else { return Err(Error::NotThere) };
        let server = &self.servers[index].server;
        let url = format!("{server}/buildid/{build_id}/debuginfo");
        let mut file = cache.begin(build_id).map_err(Error::Write)?;
        let progress = &mut self.progress;
        let result = http::fetch(&self.agent, &url, &self.settings, file.as_file_mut(), |bytes, all| {
            progress.part(name, bytes, all);
        });
        let result = result.and_then(|bytes| match (self.is_right)(file.path(), build_id) {
            true => cache.finish(build_id, file).map_err(Error::Write).map(|()| bytes),
            false => Err(Error::WrongFile),
        });
        progress.done(name, server, result.as_ref().ok().copied());
        result.map(|_| ())
    }

    /// What each server answered.
    pub fn answers(&self) -> &[Answer] {
        &self.servers
    }

    /// The answers as statements for the user.
    pub fn statements(&self) -> Vec<String> {
        let of_server = |answer: &Answer| {
            let lacks = (!answer.lacks.is_empty()).then(|| format!("it does not have {}", answer.lacks.join(", ")));
            let unusable = answer.unusable.iter().map(|file| format!("it has {file}"));
            let failure = answer.failure.as_ref().map(|failure| format!("it {failure}"));
            let parts: Vec<String> = lacks.into_iter().chain(unusable).chain(failure).collect();
            (!parts.is_empty()).then(|| format!("{} ({})", answer.server, parts.join("; ")))
        };
        let mut statements: Vec<String> = self.servers.iter().filter_map(of_server).collect();
        if !self.remembered.is_empty() {
            let cache = self.settings.cache.as_deref().unwrap_or(Path::new(""));
            let names = self.remembered.join(", ");
            statements
                .push(format!("debuginfod's cache {} (no server had {names} a few minutes ago)", cache.display()));
        }
        statements.extend(self.failure.as_ref().map(|failure| format!("debuginfod's servers ({failure})")));
        statements
    }
}
