//! Generated tables and screens in Markdown files: between `<!-- table: NAME -->` and `<!-- end of table -->`.

use std::path::Path;

const END: &str = "<!-- end of table -->";

/// A Markdown table; the first `text_columns` of it are aligned to the left, the others, numbers, to the right.
pub fn markdown(header: &[&str], text_columns: usize, rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let header: Vec<String> = header.iter().map(|&cell| cell.to_owned()).collect();
    let rule = (0..header.len()).map(|column| if column < text_columns { "---" } else { "--:" });
    let rule = format!("|{}|\n", rule.collect::<Vec<_>>().join("|"));
    line(&header) + &rule + &rows.iter().map(|row| line(row)).collect::<String>()
}

/// A screen of text as it was printed, in Markdown.
pub fn screen(text: &str) -> String {
    let lines: String = text.trim_matches('\n').lines().map(|line| format!("{}\n", line.trim_end())).collect();
    format!("```\n{lines}```\n")
}

/// The section of a report that begins with a line like `title`, up to the next empty line.
pub fn section<'a>(report: &'a str, title: &str) -> Result<&'a str, String> {
    let missing = || format!("the report has no section \"{title}\":\n{report}");
    let begin = report.find(&format!("\n{title}")).ok_or_else(missing)? + 1;
    let rest = &report[begin..];
    Ok(&rest[..rest.find("\n\n").map_or(rest.len(), |end| end + 1)])
}

/// Puts `table` in the marked place of `file`.
pub fn write(file: &Path, name: &str, table: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let text = replaced(&text, name, table).ok_or_else(|| format!("{}: no table {name}", file.display()))?;
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

fn replaced(text: &str, name: &str, table: &str) -> Option<String> {
    let (before, rest) = text.split_once(&format!("<!-- table: {name} -->\n"))?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}<!-- table: {name} -->\n{table}{END}{after}"))
}

/// A whole number with thousands separated.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_replaced_in_its_place() {
        let file = "a\n<!-- table: x -->\nold\n<!-- end of table -->\nb\n";
        let table = markdown(&["what", "ms"], 1, &[vec!["sort".into(), "3".into()]]);
        let new = replaced(file, "x", &table).unwrap();
        assert_eq!(new, "a\n<!-- table: x -->\n| what | ms |\n|---|--:|\n| sort | 3 |\n<!-- end of table -->\nb\n");
        assert_eq!(replaced(&new, "x", &table), Some(new.clone()));
        assert_eq!(replaced(file, "y", &table), None);
    }

    #[test]
    fn a_section_ends_before_the_next() {
        let report = "head\n\nCosts, of 3 s\n 1 s  a  \n 2 s  b\n\nLines\nc\n";
        assert_eq!(section(report, "Costs"), Ok("Costs, of 3 s\n 1 s  a  \n 2 s  b\n"));
        assert_eq!(section(report, "Lines"), Ok("Lines\nc\n"));
        assert!(section(report, "Threads").is_err());
        assert_eq!(screen("\n 1 s  a  \n"), "```\n 1 s  a\n```\n");
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1000, 1_382_400].map(grouped), ["0", "999", "1,000", "1,382,400"]);
    }
}
