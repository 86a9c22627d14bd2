//! Functions and loaded files that expressions name.

use memtoll_trace::path::last_part;
use regex::Regex;
use std::fmt;
use std::str::FromStr;

/// Before an expression that is only compared with names of functions, or of loaded files.
const FUNCTION: &str = "function:";
const MODULE: &str = "module:";

/// Functions and loaded files whose name one of some expressions matches. Their text has a line for each expression. `function:` or
/// `module:` before it says that it is only compared with names of functions or files, and `function:a module:b` names functions of
/// these files. An expression with a slash is compared with paths of files, any other one with their names; one with `\(` is
/// compared with names of functions with and without their parameters, any other one with those without.
#[derive(Clone, Debug)]
pub struct Names {
    text: String,
    all: Vec<Expression>,
}

#[derive(Clone, Debug)]
enum Expression {
    Any(Regex),
    Function(Regex),
    Module(Regex),
    FunctionOf(Regex, Regex),
}

/// A function and its loaded file, by all names that expressions may mean.
pub(super) struct NamesOfFrame<'t> {
    /// With its parameters, and without.
    pub functions: [&'t str; 2],
    /// The file's own path, and the one that is shown.
    pub paths: [&'t str; 2],
}

impl NamesOfFrame<'_> {
    fn is_function(&self, regex: &Regex) -> bool {
        let [whole, qualified] = self.functions;
        regex.is_match(qualified) || regex.as_str().contains(r"\(") && regex.is_match(whole)
    }

    fn is_module(&self, regex: &Regex) -> bool {
        match regex.as_str().contains('/') {
            true => self.paths.iter().any(|path| regex.is_match(path)),
            false => regex.is_match(last_part(self.paths[1])),
        }
    }
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
    pub(super) fn of(&self, frame: &NamesOfFrame) -> Named {
        self.all.iter().fold(Named::default(), |found, expression| {
            let (function, module) = match expression {
                Expression::Any(regex) => (frame.is_function(regex), frame.is_module(regex)),
                Expression::Function(regex) => (frame.is_function(regex), false),
                Expression::Module(regex) => (false, frame.is_module(regex)),
                Expression::FunctionOf(function, module) => {
                    (frame.is_function(function) && frame.is_module(module), false)
                }
            };
            Named { function: found.function || function, module: found.module || module }
        })
    }
}

impl FromStr for Names {
    type Err = regex::Error;

    fn from_str(text: &str) -> Result<Names, regex::Error> {
        let of = |line: &str| {
            let function = line.strip_prefix(FUNCTION);
            let parts = function.and_then(|rest| rest.rsplit_once(&format!(" {MODULE}")));
            Ok(match (parts, function, line.strip_prefix(MODULE)) {
                (Some((function, module)), ..) => Expression::FunctionOf(Regex::new(function)?, Regex::new(module)?),
                (_, Some(function), _) => Expression::Function(Regex::new(function)?),
                (.., Some(module)) => Expression::Module(Regex::new(module)?),
                _ => Expression::Any(Regex::new(line)?),
            })
        };
        Ok(Names { text: text.to_owned(), all: text.split('\n').map(of).collect::<Result<_, _>>()? })
    }
}

impl From<Regex> for Names {
    fn from(regex: Regex) -> Names {
        Names { text: regex.to_string(), all: vec![Expression::Any(regex)] }
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
    use crate::library::qualified_name;

    #[test]
    fn an_expression_names_functions_files_or_both() {
        let found = |names: &str, function: &str, module: &str| {
            let frame = NamesOfFrame { functions: [function, qualified_name(function)], paths: [module; 2] };
            let Named { function, module } = names.parse::<Names>().unwrap().of(&frame);
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
        assert_eq!(found("function:^f$ module:^/lib/a/", "f", "/lib/a/libz.so"), [true, false]);
        assert_eq!(found("function:^f$ module:^/lib/a/", "f", "/lib/b/libz.so"), [false, false]);
        assert_eq!(found("function:^f$ module:^/lib/a/", "g", "/lib/a/libz.so"), [false, false]);
        assert_eq!(found(r"function:^void f<int>\(int\)$", "void f<int>(int)", "app"), [true, false]);
        assert_eq!(found(r"function:^void f<int>\(int\)$", "void f<int>(long)", "app"), [false, false]);
        assert_eq!(found("function:int", "f(int)", "app"), [false, false]);
        assert_eq!(
            found(r"function:^\(anonymous namespace\)::f$", "(anonymous namespace)::f(int)", "app"),
            [true, false]
        );
        assert!("function:f module:(".parse::<Names>().is_err());
        assert!("function:(".parse::<Names>().is_err());
        assert_eq!("function:a|b".parse::<Names>().unwrap().to_string(), "function:a|b");
    }
}
