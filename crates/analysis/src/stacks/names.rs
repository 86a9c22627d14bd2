//! Functions and loaded files that expressions name.

use memtoll_trace::path::last_part;
use regex::Regex;
use std::fmt;
use std::str::FromStr;

/// Whose names an expression is compared with, if the text before it says that.
const KINDS: [(&str, Named); 2] =
    [("function:", Named { function: true, module: false }), ("module:", Named { function: false, module: true })];

/// Functions, without their parameters, and loaded files, whose name one of some expressions matches. Their text has a line for each
/// expression; `function:` or `module:` before it says that it is only compared with names of functions or files. One with a slash is
/// compared with paths of files, any other one with their names.
#[derive(Clone, Debug)]
pub struct Names {
    text: String,
    all: Vec<(Named, Regex)>,
}

/// Which name of a frame matches.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Named {
    pub function: bool,
    /// The loaded file.
    pub module: bool,
}

impl Named {
    pub fn is_any(self) -> bool {
        self.function || self.module
    }
}

impl Names {
    /// `paths` are those of the loaded file: its own, and the one that is shown.
    pub(super) fn of(&self, function: &str, paths: [&str; 2]) -> Named {
        let is_file = |regex: &Regex| match regex.as_str().contains('/') {
            true => paths.iter().any(|path| regex.is_match(path)),
            false => regex.is_match(last_part(paths[1])),
        };
        self.all.iter().fold(Named::default(), |found, (kind, regex)| Named {
            function: found.function || kind.function && regex.is_match(function),
            module: found.module || kind.module && is_file(regex),
        })
    }
}

impl FromStr for Names {
    type Err = regex::Error;

    fn from_str(text: &str) -> Result<Names, regex::Error> {
        let of = |line: &str| {
            let kind = KINDS.iter().find_map(|(prefix, kind)| Some((*kind, line.strip_prefix(prefix)?)));
            let (kind, pattern) = kind.unwrap_or((Named { function: true, module: true }, line));
            Ok((kind, Regex::new(pattern)?))
        };
        Ok(Names { text: text.to_owned(), all: text.split('\n').map(of).collect::<Result<_, _>>()? })
    }
}

impl From<Regex> for Names {
    fn from(regex: Regex) -> Names {
        Names { text: regex.to_string(), all: vec![(Named { function: true, module: true }, regex)] }
    }
}

impl fmt::Display for Names {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_names_functions_files_or_both() {
        let found = |names: &str, function: &str, module: &str| {
            let Named { function, module } = names.parse::<Names>().unwrap().of(function, [module; 2]);
            [function, module]
        };
        assert_eq!(found("^sort$", "sort", "sort"), [true, true]);
        assert_eq!(found("function:^sort$", "sort", "sort"), [true, false]);
        assert_eq!(found("module:^sort$", "sort", "sort"), [false, true]);
        assert_eq!(found("function:^sort$\nmodule:^libz", "sort", "sort"), [true, false]);
        assert_eq!(found("function:^sort$\nmodule:^libz", "sort", "libz.so.1"), [true, true]);
        assert_eq!(found("app::walk\nfunction:x", "app::walk", "app"), [true, false]);
        assert_eq!(found("module:^/lib/a/", "f", "/lib/a/libz.so"), [false, true]);
        assert_eq!(found("module:^/lib/a/", "f", "/lib/b/libz.so"), [false, false]);
        assert_eq!(found("^libz", "f", "/lib/b/libz.so"), [false, true]);
        assert_eq!(found("lib", "f", "/lib/b/z.so"), [false, false]);
        assert!("function:(".parse::<Names>().is_err());
        assert_eq!("function:a|b".parse::<Names>().unwrap().to_string(), "function:a|b");
    }
}
