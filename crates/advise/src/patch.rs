//! A finding as a change of the source, where that is mechanical: a unified diff for `git apply` or `patch -p1`.
//!
//! Source is read as text, without a compiler. So each change is one that holds whatever the rest of the code does, and
//! what the text does not prove is refused, with the reason.
//!
//! * [`code`]: source text as statements and blocks
//! * [`names`]: which object a statement is about, and where that is declared
//! * [`reserve`]: room for all elements before the first one is added
//! * [`keep`]: an object that is kept from one turn of a loop to the next
//! * [`turns`]: how many elements a loop adds, in the words of the source
//! * [`called`]: snippets with the names of the source
//! * [`mallopt`]: settings of glibc's malloc, first thing in `main`

pub(crate) mod code;
mod hoisted_buffer;
mod loop_bounds;
mod mallopt;
mod names;
mod refusal;
mod reserve;
mod source_names;

use crate::finding::{Finding, Place, Remedy};
use crate::source::Root;
use code::{Code, Language};
use memtoll_model::Recording;
pub use refusal::Refusal;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    pub file: PathBuf,
    /// What it is called from the root of the sources.
    pub name: String,
    /// Its text.
    pub before: String,
    /// Its text with the change.
    pub after: String,
}

impl Patch {
    /// The change as a unified diff.
    pub fn diff(&self) -> String {
        let mut options = diffy::DiffOptions::new();
        options.set_original_filename(format!("a/{}", self.name)).set_modified_filename(format!("b/{}", self.name));
        options.create_patch(&self.before, &self.after).to_string()
    }
}

/// A replacement in a text: these bytes go, and a text takes their place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Edit {
    at: std::ops::Range<usize>,
    text: String,
}

impl Edit {
    fn insert(at: usize, text: String) -> Edit {
        Edit { at: at..at, text }
    }
}

/// The change that a finding asks for.
/// The error is a sentence for the user.
pub fn patch(recording: &Recording, finding: &Finding, root: &Root) -> Result<Patch, Refusal> {
    let Some(remedy) = &finding.remedy else {
        return Err(format!("{} needs a decision of yours: see the snippet of memtoll advise", finding.id).into());
    };
    let place = match remedy {
        Remedy::Mallopt { .. } => finding.stack.iter().find(|place| place.function == "main"),
        _ => finding.stack.first(),
    };
    let source = place.map(|place| Source::of(recording, &finding.module, place, root));
    let Source { file, name, text, line } = source.unwrap_or_else(|| Err(unknown("main").into()))?;
    let name = name.ok_or_else(|| {
        format!("{} is not below {}: name the sources' folder with --root", file.display(), root.folder().display())
    })?;
    let after = change(&text, Language::of(&file), line, remedy).map_err(|why| format!("{name}:{line}: {why}"))?;
    Ok(Patch { file, name, before: text, after })
}

/// The snippet of a finding, with the names that the source has, if the line tells them.
pub(crate) fn named(finding: &Finding, code: &Code, line: std::ops::Range<usize>) -> Option<String> {
    if finding.remedy == Some(Remedy::Reserve)
        && let Ok(call) = reserve::call(code, line.clone())
    {
        return Some(format!("{call} // before the loop"));
    }
    source_names::named(&finding.snippet, finding.called?, code, line).ok()
}

/// A line of a source file that is as it was when the program was built.
pub(crate) struct Source {
    pub file: PathBuf,
    /// What the file is called from the root of the sources, if it is below.
    name: Option<String>,
    pub text: String,
    pub line: u32,
}

impl Source {
    /// Where a finding's place is, whose code is in `module`.
    /// The error is a sentence for the user.
    pub fn of(recording: &Recording, module: &str, place: &Place, root: &Root) -> Result<Source, Refusal> {
        let known = place.file.as_deref().zip(place.line);
        let (file, line) = known.ok_or_else(|| unknown(&place.function))?;
        let path = Path::new(&recording.about.directory).join(file);
        let path =
            path.canonicalize().map_err(|error| format!("the source is not at hand: {}: {error}", path.display()))?;
        let name = path.to_str().and_then(|path| root.relative(path));
        is_unchanged(recording, module, &path, name.as_deref().unwrap_or(file))?;
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Source { file: path, name, text, line })
    }
}

fn unknown(function: &str) -> String {
    format!("cannot find the source of {function}: build with -g")
}

/// The text with a remedy in the statement of this line, or in `main` around it.
fn change(text: &str, language: Language, line: u32, remedy: &Remedy) -> Result<String, Refusal> {
    let code = Code::new(text, language);
    let at = code.line(line).ok_or_else(|| format!("the file has no line {line} with code"))?;
    let mut edits = match remedy {
        Remedy::Reserve => reserve::edits(&code, at)?,
        Remedy::Move => return Err("only you know whether the original is needed later".into()),
        Remedy::NoFill => return Err("whether all of it is overwritten before it is read, only you know".into()),
        Remedy::Keep => hoisted_buffer::edits(&code, at)?,
        Remedy::Mallopt { options } => mallopt::edits(&code, at, options)?,
    };
    edits.sort_by_key(|edit| edit.at.start);
    let mut changed = String::with_capacity(text.len() + 200);
    let mut done = 0;
    for edit in edits {
        changed.push_str(&text[done..edit.at.start]);
        changed.push_str(&edit.text);
        done = edit.at.end;
    }
    changed.push_str(&text[done..]);
    Ok(changed)
}

/// Whether a source file is what the recorded program was built from, as far as the times of the files tell.
fn is_unchanged(recording: &Recording, module: &str, source: &Path, name: &str) -> Result<(), Refusal> {
    let time = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified());
    let changed = time(source).map_err(|error| format!("{}: {error}", source.display()))?;
    let recorded = UNIX_EPOCH + Duration::from_nanos(recording.about.started);
    // A file that was built again since tells nothing of the one that ran.
    let built: Option<SystemTime> = time(Path::new(module)).ok().filter(|built| *built <= recorded);
    match built {
        Some(built) if changed > built => {
            Err(format!("{name} is newer than {module}: lines may have moved. Build, record, and ask again").into())
        }
        None if changed > recorded => {
            Err(format!("{name} is newer than the recording: lines may have moved. Build, record, and ask again")
                .into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The diff of a remedy in the line with `<--`.
    fn diff(language: Language, remedy: &Remedy, text: &str) -> Result<String, Refusal> {
        let line = text.lines().position(|line| line.contains("<--")).expect("a marked line") as u32 + 1;
        let after = change(text, language, line, remedy)?;
        let patch = Patch { file: PathBuf::new(), name: "a".to_owned(), before: text.to_owned(), after };
        let changed = |line: &&str| matches!(line.as_bytes(), [b'+' | b'-', next, ..] if !b"+-".contains(next));
        Ok(patch.diff().lines().filter(changed).collect::<Vec<_>>().join("\n"))
    }

    fn reserve(text: &str) -> Result<String, Refusal> {
        diff(Language::Cxx, &Remedy::Reserve, text)
    }

    fn keep(text: &str) -> Result<String, Refusal> {
        diff(Language::Cxx, &Remedy::Keep, text)
    }

    fn rust(remedy: &Remedy, text: &str) -> Result<String, Refusal> {
        diff(Language::Rust, remedy, text)
    }

    #[test]
    fn a_vector_gets_room_before_the_loop_that_fills_it() {
        let text = "void f() {\n    std::vector<int> a; // { (\n    int n = 9;\n    for (int i = 0; i < n; ++i)\n        \
                    a.push_back(i); // <--\n}\n";
        assert_eq!(reserve(text).unwrap(), "+    a.reserve(n);");
        let again = "void f() {\n  for (auto& x : all) {\n    std::vector<int> a;\n    for (int y : x.rows) { a.push_back(y); } // <--\n  }\n}\n";
        assert_eq!(reserve(again).unwrap(), "+    a.reserve(x.rows.size());");
    }

    #[test]
    fn a_vector_from_elsewhere_gets_room_before_the_outermost_loop() {
        let text = "void f(std::vector<int>& out) {\n    start();\n    for (auto& row : rows) {\n        for (int i = 0; i < n; ++i) {\n\
                    \t\t\tout.push_back(i); // <--\n        }\n    }\n}\n";
        assert_eq!(reserve(text).unwrap(), "+    out.reserve(rows.size() * n);");
        let text = "int f() {\n    for (auto& row : rows) {\n        for (int i : b)\n            row.push_back(i); // <--\n    }\n}\n";
        assert!(
            reserve(text).unwrap_err().to_string().contains("\"row\" is declared in the loop"),
            "{:?}",
            reserve(text)
        );
    }

    #[test]
    fn what_cannot_be_told_is_refused() {
        for (line, why) in [
            ("a.push_back(1); b.push_back(2); // <--", "more than one"),
            ("make().push_back(1); // <--", "no object"),
            ("rows[i].push_back(1); // <--", "no object"),
            ("p->push_back(1); // <--", "in no loop"),
            ("for (int i = 0; i < 9; ++i) p->push_back(1); // <--", "may be null"),
            ("f(x); // <--", "no object"),
        ] {
            let text = format!("void f() {{\n    {line}\n}}\n");
            let found = reserve(&text).unwrap_err();
            assert!(found.to_string().contains(why), "{line}: {found}");
        }
        let otherwise =
            "void f() {\n    if (x) y();\n    else for (int i = 0; i < 9; ++i)\n        a.push_back(1); // <--\n}\n";
        assert!(reserve(otherwise).is_err(), "{:?}", reserve(otherwise));
        assert!(diff(Language::C, &Remedy::Reserve, "void f() {\n  p = realloc(p, n); // <--\n}\n").is_err());
    }

    #[test]
    fn rust_makes_room_where_it_makes_the_vector() {
        let text = "fn f() {\n    let mut a: Vec<u64> = Vec::new();\n    for i in 0..9 { a.push(i); } // <--\n}\n";
        let expected = "-    let mut a: Vec<u64> = Vec::new();\n+    let mut a: Vec<u64> = Vec::with_capacity(9);";
        assert_eq!(rust(&Remedy::Reserve, text).unwrap(), expected);
        let text = "fn f<'a>() {\n    let mut a = vec![];\n    let rows = make();\n    for i in &rows { a.push('{'); } // <--\n}\n";
        assert_eq!(rust(&Remedy::Reserve, text).unwrap(), "+    a.reserve(rows.len());", "the rows come later");
        let text = "fn f(a: &mut Vec<u64>, n: u64) {\n    for i in 0..n { a.push(i); } // <--\n}\n";
        assert_eq!(rust(&Remedy::Reserve, text).unwrap(), "+    a.reserve(n as usize);");
    }

    #[test]
    fn a_buffer_is_kept_outside_of_its_loop() {
        let text = "void f() {\n  for (int i = 0; i < 9; ++i) {\n    std::vector<unsigned char> row(width); // <--\n    \
                    use(row);\n  }\n}\n";
        let expected = "+  std::vector<unsigned char> row;\n-    std::vector<unsigned char> row(width); // <--\n\
                        +    row.clear();\n+    row.resize(width); // <--";
        assert_eq!(keep(text).unwrap(), expected);
        let text = "fn f() {\n    for i in 0..9 {\n        let mut line = String::new();\n        line.push_str(\"x\"); // <--\n    }\n}\n";
        let expected =
            "+    let mut line = String::new();\n-        let mut line = String::new();\n+        line.clear();";
        assert_eq!(rust(&Remedy::Keep, text).unwrap(), expected);
    }

    #[test]
    fn a_buffer_that_is_given_away_or_whose_name_is_taken_stays() {
        let inside = |body: &str, around: &str| {
            keep(&format!(
                "void f() {{\n  {around}\n  while (x) {{\n    std::string s;\n    s += 'x'; // <--\n    {body}\n  }}\n}}\n"
            ))
        };
        assert!(inside("use(s);", "g();").is_ok());
        assert!(inside("out.push_back(std::move(s));", "g();").unwrap_err().to_string().contains("moved"));
        assert!(inside("return s;", "g();").unwrap_err().to_string().contains("moved"));
        assert!(inside("use(s);", "int s = 0;").unwrap_err().to_string().contains("another"));
        assert!(inside("goto end;", "g();").unwrap_err().to_string().contains("goto"));
        let objects = "void f() {\n  while (x) {\n    std::vector<Guard> s;\n    s.emplace_back(); // <--\n  }\n}\n";
        assert!(keep(objects).unwrap_err().to_string().contains("elements"));
        let outside = "void f() {\n  std::string s;\n  s += 'x'; // <--\n}\n";
        assert!(keep(outside).unwrap_err().to_string().contains("loop"));
    }

    #[test]
    fn malloc_is_set_up_first_thing_in_main() {
        let remedy = Remedy::Mallopt { options: vec![("M_TRIM_THRESHOLD", "INT_MAX".to_owned())] };
        let text = "#include <stdio.h>\n#ifdef X\n#include <x.h>\n#endif\n\nint main(int n, char **words)\n{\n    run(); // <--\n}\n";
        let expected = "+#include <limits.h>\n+#include <malloc.h>\n+    mallopt(M_TRIM_THRESHOLD, INT_MAX);";
        let found = change(text, Language::C, 8, &remedy).unwrap();
        assert!(
            found.starts_with("#include <stdio.h>\n#include <limits.h>\n#include <malloc.h>\n#ifdef X\n"),
            "{found}"
        );
        assert_eq!(diff(Language::C, &remedy, text).unwrap(), expected);
        assert!(
            diff(Language::Rust, &remedy, "fn main() {\n  run(); // <--\n}\n")
                .unwrap_err()
                .to_string()
                .contains("GLIBC_TUNABLES")
        );
        let again = text.replace("    run()", "    mallopt(M_TOP_PAD, 1); run()");
        assert!(diff(Language::C, &remedy, &again).unwrap_err().to_string().contains("already"));
    }
}
