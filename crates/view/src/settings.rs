//! What may be shown beside a recording, and how: what somebody says on the command line.

use memtoll_model::DebugFolders;
use std::fmt;
use std::str::FromStr;

/// The options of the command line.
#[derive(Clone, Default, Debug)]
pub struct Settings {
    /// Whether source files that the recording names are shown.
    pub sources: bool,
    /// What opens a line.
    pub editor: Editor,
    /// Where debug files of programs may lie.
    pub folders: DebugFolders,
    /// Of a recording that is being made: how often its file was opened.
    pub live: Option<u32>,
}

/// A link that opens a line of a file in an editor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Editor(String);

impl Default for Editor {
    fn default() -> Editor {
        Editor("vscode://file{file}:{line}".to_owned())
    }
}

impl Editor {
    /// The link with `{file}` and `{line}`; empty: there is none.
    pub fn template(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Editor {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(if self.0.is_empty() { "none" } else { &self.0 })
    }
}

/// What stands where a link of an editor should.
#[derive(Debug, thiserror::Error)]
#[error(
    "expected a link of an editor with {{file}} and {{line}}, such as \
     vscode://file{{file}}:{{line}} or idea://open?file={{file}}&line={{line}}, or none"
)]
pub struct NoEditor;

impl FromStr for Editor {
    type Err = NoEditor;

    /// `none`, or a link. What a browser itself would run or show is none.
    fn from_str(text: &str) -> Result<Editor, NoEditor> {
        if text == "none" {
            return Ok(Editor(String::new()));
        }
        let is_scheme = |scheme: &str| {
            scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                && scheme.chars().all(|one| one.is_ascii_alphanumeric() || "+.-".contains(one))
        };
        let (scheme, rest) = text.split_once(':').unwrap_or_default();
        let of_browser = ["javascript", "data", "vbscript", "blob", "file", "about"];
        match is_scheme(scheme)
            && !of_browser.contains(&scheme.to_ascii_lowercase().as_str())
            && rest.contains("{file}")
        {
            true => Ok(Editor(text.to_owned())),
            false => Err(NoEditor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_open_editors_and_nothing_else() {
        for good in ["vscode://file{file}:{line}", "idea://open?file={file}&line={line}", "x-emacs:{file}"] {
            assert_eq!(good.parse::<Editor>().unwrap().template(), good);
        }
        assert_eq!("none".parse::<Editor>().unwrap().template(), "");
        let bad = [
            "", "vscode", "vscode://file", "javascript:alert('{file}')", "JavaScript:{file}", "data:{file}",
            "1x:{file}",
        ];
        for bad in bad {
            assert!(bad.parse::<Editor>().is_err(), "{bad}");
        }
        assert!(Editor::default().template().parse::<Editor>().is_ok());
    }
}
