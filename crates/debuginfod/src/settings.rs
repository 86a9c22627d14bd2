//! What the environment says.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How long a server may take for [`LEAST`] bytes if `DEBUGINFOD_TIMEOUT` does not say.
const PATIENCE: Duration = Duration::from_secs(90);

/// Which servers are asked, and how. All from variables that other clients obey, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The servers, in the order in which they are asked. From `DEBUGINFOD_URLS`.
    pub servers: Vec<String>,
    /// The cache: `DEBUGINFOD_CACHE_PATH`, or `debuginfod_client` in the user's folder for caches. `None` if there is no
    /// such folder.
    pub cache: Option<PathBuf>,
    /// A server that does not hand out 100 KiB in this time is given up; `None`: it may take as long as it wants. From
    /// `DEBUGINFOD_TIMEOUT`.
    pub patience: Option<Duration>,
    /// Longest time that a file may take. From `DEBUGINFOD_MAXTIME`.
    pub longest: Option<Duration>,
    /// Longest file that is fetched, bytes. From `DEBUGINFOD_MAXSIZE`.
    pub largest: Option<u64>,
}

impl Settings {
    /// From the environment of this process.
    pub fn from_environment() -> Settings {
        Settings::from_variables(|name| std::env::var_os(name))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Settings {
        let filled = |name: &str| variable(name).filter(|value| !value.is_empty());
        let number = |name: &str| filled(name)?.to_str()?.trim().parse::<i64>().ok();
        let urls = filled("DEBUGINFOD_URLS").unwrap_or_default().to_string_lossy().into_owned();
        // `ima:enforcing` and the like stand among the servers and say how far they are trusted.
        let servers = urls.split_whitespace().filter(|word| !word.starts_with("ima:"));
        let home = filled("HOME").map(PathBuf::from);
        // The first is where old versions had it; as long as it is there, everybody uses it.
        let old = home.as_ref().map(|home| home.join(".debuginfod_client_cache")).filter(|folder| folder.is_dir());
        let in_caches = || {
            let caches = filled("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| Some(home?.join(".cache")))?;
            Some(caches.join("debuginfod_client"))
        };
        let seconds = |number: i64| u64::try_from(number).ok().filter(|number| *number > 0).map(Duration::from_secs);
        Settings {
            servers: servers.map(|url| url.trim_end_matches('/').to_owned()).collect(),
            cache: filled("DEBUGINFOD_CACHE_PATH").map(PathBuf::from).or(old).or_else(in_caches),
            patience: number("DEBUGINFOD_TIMEOUT").map_or(Some(PATIENCE), seconds),
            longest: number("DEBUGINFOD_MAXTIME").and_then(seconds),
            largest: number("DEBUGINFOD_MAXSIZE")
                .and_then(|bytes| u64::try_from(bytes).ok())
                .filter(|bytes| *bytes > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        Settings::from_variables(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn servers_are_words() {
        let found = settings(&[("DEBUGINFOD_URLS", " https://a.example/  ima:enforcing\nhttp://b:8002 ")]);
        assert_eq!(found.servers, ["https://a.example", "http://b:8002"]);
        assert!(settings(&[]).servers.is_empty());
    }

    #[test]
    fn the_cache_is_the_one_that_other_tools_use() {
        let cache = |variables: &[(&str, &str)]| settings(variables).cache;
        let home = ("HOME", "/nonexistent/me");
        assert_eq!(cache(&[home]), Some("/nonexistent/me/.cache/debuginfod_client".into()));
        assert_eq!(cache(&[home, ("XDG_CACHE_HOME", "/c")]), Some("/c/debuginfod_client".into()));
        assert_eq!(cache(&[home, ("XDG_CACHE_HOME", "/c"), ("DEBUGINFOD_CACHE_PATH", "/d")]), Some("/d".into()));
        assert_eq!(
            cache(&[home, ("DEBUGINFOD_CACHE_PATH", "")]),
            Some("/nonexistent/me/.cache/debuginfod_client".into())
        );
        assert_eq!(cache(&[]), None);
    }

    #[test]
    fn limits() {
        let seconds = Duration::from_secs;
        assert_eq!(settings(&[]).patience, Some(seconds(90)));
        assert_eq!(settings(&[("DEBUGINFOD_TIMEOUT", "5")]).patience, Some(seconds(5)));
        assert_eq!(settings(&[("DEBUGINFOD_TIMEOUT", "0")]).patience, None);
        assert_eq!(settings(&[("DEBUGINFOD_TIMEOUT", "soon")]).patience, Some(seconds(90)));
        assert_eq!(settings(&[("DEBUGINFOD_MAXTIME", "7")]).longest, Some(seconds(7)));
        assert_eq!(settings(&[("DEBUGINFOD_MAXSIZE", "1000")]).largest, Some(1000));
    }
}
