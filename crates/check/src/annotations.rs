//! Verdicts as annotations of GitHub Actions: `::error file=…,line=…::…` on standard output.

use crate::text::{line, sentence, unit_of_lines};
use crate::verdict::{Judged, Verdict};
use std::path::Path;

/// An annotation for each broken limit, at the line that broke it, and for each that is not known, in the budget.
pub fn render(all: &[Judged], budget: &str, root: &Path) -> String {
    let mut text = String::new();
    for judged in all {
        let level = match judged.verdict {
            Verdict::Broken => "error",
            Verdict::Unknown => "warning",
            Verdict::Kept | Verdict::WithinNoise => continue,
        };
        let (file, at) = place(judged, budget, root);
        let mut message = format!("{}: {}", judged.entry.scope.shown(), sentence(judged));
        for one in &judged.lines {
            message += &format!("\n{}", line(unit_of_lines(judged), one));
        }
        let title = format!("Memory budget: {}", judged.entry.key());
        text +=
            &format!("::{level} file={},line={at},title={}::{}\n", property(&file), property(&title), data(&message));
    }
    text
}

/// Where a verdict is shown: at the first line that broke the limit and lies in `root`, else at the limit.
pub fn place(judged: &Judged, budget: &str, root: &Path) -> (String, u32) {
    let inside = judged.lines.iter().find_map(|line| Some((relative(line.file.as_deref()?, root)?, line.line?)));
    inside.unwrap_or_else(|| {
        let budget = relative(budget, root).unwrap_or_else(|| budget.to_owned());
        (budget, judged.entry.line as u32)
    })
}

/// A path as seen from `root`, if it lies in it.
pub fn relative(path: &str, root: &Path) -> Option<String> {
    let path = Path::new(path);
    let inside = if path.is_absolute() { path.strip_prefix(root).ok()? } else { path };
    let is_outside = inside.components().any(|part| part == std::path::Component::ParentDir);
    (!is_outside).then(|| inside.display().to_string())
}

/// Workflow commands end at a line break, and their properties at a comma or a colon.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_escaped_as_github_reads_them() {
        assert_eq!(property("a:b,c\n5 %"), "a%3Ab%2Cc%0A5 %25");
        assert_eq!(data("5 %: a\nb"), "5 %25: a%0Ab");
    }

    #[test]
    fn paths_are_those_of_the_repository() {
        let root = Path::new("/src/app");
        assert_eq!(relative("/src/app/a/b.cpp", root).as_deref(), Some("a/b.cpp"));
        assert_eq!(relative("/usr/include/vector", root), None);
        assert_eq!(relative("a/b.cpp", root).as_deref(), Some("a/b.cpp"));
        assert_eq!(relative("../b.cpp", root), None);
    }
}
