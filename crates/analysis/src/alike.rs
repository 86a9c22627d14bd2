//! Functions that are called alike, such as overloads: what tells them apart where they stand beside each other.

use crate::library::qualified_name;
use crate::names::short_function;
use rustc_hash::{FxHashMap, FxHashSet};

/// Names of functions of one table.
#[derive(Clone, Debug, Default)]
pub struct Alike {
    /// By its whole name, what to write behind the short name of each function that shares it with another one.
    behind: FxHashMap<String, String>,
}

impl Alike {
    /// `functions`: their whole names. Parameters tell functions of one name apart, or else the part in which their whole names
    /// differ, in brackets: ` [A]`.
    pub fn among<'n>(functions: impl IntoIterator<Item = &'n str>) -> Alike {
        let functions: FxHashSet<&str> = functions.into_iter().collect();
        let mut behind = FxHashMap::default();
        let of_one_name = groups(functions.into_iter(), short_function);
        for overloads in of_one_name.into_iter().filter(|group| group.len() > 1) {
            let with_parameters = groups(overloads.iter().copied(), |whole| parameters(whole).to_owned());
            let are_told_apart = with_parameters.len() > 1;
            for group in with_parameters {
                for (whole, differs) in group.iter().zip(differences(&group)) {
                    let parameters = if are_told_apart { parameters(whole) } else { "" };
                    let differs = if group.len() > 1 { format!(" [{differs}]") } else { String::new() };
                    behind.insert((*whole).to_owned(), parameters.to_owned() + &differs);
                }
            }
        }
        Alike { behind }
    }

    /// What a function is called whose short name another one has, too.
    pub fn longer(&self, function: &str) -> Option<String> {
        self.behind.get(function).map(|behind| short_function(function) + behind)
    }

    /// What a function is called.
    pub fn name(&self, function: &str) -> String {
        short_function(function) + self.behind(function)
    }

    /// What to write behind a function's short name; empty where the name tells it apart.
    pub fn behind(&self, function: &str) -> &str {
        self.behind.get(function).map_or("", String::as_str)
    }
}

/// `(int) const` of `f(int) const`.
fn parameters(function: &str) -> &str {
    let qualified = qualified_name(function);
    function.split_once(qualified).map_or("", |(_, rest)| rest)
}

/// How many characters all names have in common at their beginnings and, behind these, at their ends.
fn common_ends(all: &[&str]) -> (usize, usize) {
    let count = |one: &mut dyn Iterator<Item = char>, other: &mut dyn Iterator<Item = char>| {
        one.zip(other).take_while(|(a, b)| a == b).count()
    };
    let Some((first, others)) = all.split_first() else { return (0, 0) };
    let before = others.iter().map(|other| count(&mut first.chars(), &mut other.chars())).min().unwrap_or(0);
    let behind = others.iter().map(|other| count(&mut first.chars().rev(), &mut other.chars().rev())).min();
    let shortest = all.iter().map(|name| name.chars().count()).min().unwrap_or(0);
    (before, behind.unwrap_or(0).min(shortest - before))
}

fn is_word(c: &char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | ':' | '~')
}

/// What is left of a name without these ends, from the beginning of a word to the end of one.
fn between(name: &str, (before, behind): (usize, usize)) -> &str {
    let bytes = |characters: &mut dyn Iterator<Item = char>| characters.map(char::len_utf8).sum::<usize>();
    let start = bytes(&mut name.chars().take(before));
    let end = name.len() - bytes(&mut name.chars().rev().take(behind));
    let start = start - bytes(&mut name[..start].chars().rev().take_while(is_word));
    let end = end + bytes(&mut name[end..].chars().take_while(is_word));
    &name[start..end]
}

/// A text up to the end of this many words.
fn words(text: &str, many: usize) -> &str {
    let ends = text.char_indices().zip(text.chars().skip(1)).filter(|((_, c), next)| is_word(c) && !is_word(next));
    ends.map(|((at, c), _)| &text[..at + c.len_utf8()]).nth(many - 1).unwrap_or(text)
}

/// The same without the namespaces of words.
fn without_namespaces(text: &str) -> String {
    let mut short = String::new();
    for part in text.split("::") {
        short.truncate(short.trim_end_matches(|c| is_word(&c)).len());
        short += part;
    }
    short
}

/// Where names differ: as many words as tell them apart, without their namespaces if that is enough.
fn differences(all: &[&str]) -> Vec<String> {
    let ends = common_ends(all);
    let whole: Vec<&str> = all.iter().map(|name| between(name, ends)).collect();
    let most = whole.iter().map(|text| text.len()).max().unwrap_or(0);
    let cut = (1..=most).flat_map(|many| {
        let cut: Vec<String> = whole.iter().map(|text| words(text, many).to_owned()).collect();
        [cut.iter().map(|text| without_namespaces(text)).collect(), cut]
    });
    let tells = |cut: &Vec<String>| cut.iter().collect::<FxHashSet<_>>().len() == all.len();
    cut.into_iter().find(tells).unwrap_or_else(|| whole.into_iter().map(str::to_owned).collect())
}

/// Functions that have the same of something.
fn groups<'n>(functions: impl Iterator<Item = &'n str>, of: impl Fn(&str) -> String) -> Vec<Vec<&'n str>> {
    let mut by_name: FxHashMap<String, Vec<&str>> = FxHashMap::default();
    functions.for_each(|whole| by_name.entry(of(whole)).or_default().push(whole));
    by_name.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_stand_where_names_are_alike() {
        let alike = Alike::among(["f(int)", "g(int)", "f(char const*) const", "f(int)"]);
        let names = ["f(int)", "f(char const*) const", "g(int)", "h(int)"].map(|name| alike.name(name));
        assert_eq!(names, ["f(int)", "f(char const*) const", "g", "h"]);
        assert_eq!(["f(int)", "g(int)"].map(|name| alike.behind(name)), ["(int)", ""]);
    }

    #[test]
    fn where_parameters_are_alike_that_part_stands_in_which_names_differ() {
        let long =
            |inner: &str| format!("void app::{}<std::map<int, {inner}, std::less<{inner}> > >(int)", "f".repeat(90));
        let [a, b, c] = ["app::Apple", "app::Apricot", "app::C"].map(long);
        let c = c.replace("(int)", "(long)");
        let whole = a.replace("void ", "int ");
        let short = format!("app::{}<…>", "f".repeat(90));
        let alike = Alike::among([a.as_str(), b.as_str(), c.as_str()]);
        assert_eq!(alike.name(&a), format!("{short}(int) [Apple]"));
        assert_eq!(alike.behind(&b), "(int) [Apricot]");
        assert_eq!(alike.name(&c), format!("{short}(long)"));
        let alike = Alike::among([a.as_str(), whole.as_str()]);
        assert_eq!([&a, &whole].map(|name| alike.behind(name)), [" [void]", " [int]"]);
    }

    /// Where one name is within the other, what both have may overlap.
    #[test]
    fn each_of_many_names_is_told_apart() {
        let fill = "g".repeat(100);
        let all = ["<aa>", "<a>", "<aaa>", "<b<a> >", "<ä, a>", "<a, a>", "<a, a, a>"]
            .map(|inner| format!("f<{fill}{inner}>()"));
        let alike = Alike::among(all.iter().map(String::as_str));
        let names: FxHashSet<String> = all.iter().map(|name| alike.name(name)).collect();
        assert_eq!(names.len(), all.len(), "{names:?}");
    }
}
