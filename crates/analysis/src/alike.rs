//! Functions that are called alike, such as overloads: what tells them apart where they stand beside each other.

use crate::library::qualified_name;
use crate::names::short_function;
use rustc_hash::{FxHashMap, FxHashSet};

/// Names of functions of one table.
#[derive(Clone, Debug, Default)]
pub struct Alike {
    /// By its whole name, what each function is called that shares its short name with another one.
    longer: FxHashMap<String, String>,
}

impl Alike {
    /// `functions`: their whole names. Parameters tell functions of one name apart, or else the whole name.
    pub fn among<'n>(functions: impl IntoIterator<Item = &'n str>) -> Alike {
        let functions: FxHashSet<&str> = functions.into_iter().collect();
        let overloads = shared(functions.iter().map(|whole| (short_function(whole), *whole)));
        let with_parameters = overloads.iter().map(|whole| (short_function(whole) + parameters(whole), *whole));
        let same = shared(with_parameters);
        let name = |whole: &&str| match same.contains(whole) {
            true => (*whole).to_owned(),
            false => short_function(whole) + parameters(whole),
        };
        Alike { longer: overloads.iter().map(|whole| ((*whole).to_owned(), name(whole))).collect() }
    }

    /// What a function is called whose short name another one has, too.
    pub fn longer(&self, function: &str) -> Option<&str> {
        self.longer.get(function).map(String::as_str)
    }

    /// What a function is called.
    pub fn name(&self, function: &str) -> String {
        self.longer(function).map_or_else(|| short_function(function), str::to_owned)
    }

    /// What to write behind a function's short name; empty where the name tells it apart.
    pub fn parameters<'n>(&self, function: &'n str) -> &'n str {
        if self.longer.contains_key(function) { parameters(function) } else { "" }
    }
}

/// `(int) const` of `f(int) const`.
fn parameters(function: &str) -> &str {
    let qualified = qualified_name(function);
    function.split_once(qualified).map_or("", |(_, rest)| rest)
}

/// The functions whose names others have, too.
fn shared<'n>(named: impl Iterator<Item = (String, &'n str)>) -> FxHashSet<&'n str> {
    let mut by_name: FxHashMap<String, Vec<&str>> = FxHashMap::default();
    named.for_each(|(name, whole)| by_name.entry(name).or_default().push(whole));
    by_name.into_values().filter(|functions| functions.len() > 1).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_stand_where_names_are_alike() {
        let alike = Alike::among(["f(int)", "g(int)", "f(char const*) const", "f(int)"]);
        let names = ["f(int)", "f(char const*) const", "g(int)", "h(int)"].map(|name| alike.name(name));
        assert_eq!(names, ["f(int)", "f(char const*) const", "g", "h"]);
        assert_eq!(["f(int)", "g(int)"].map(|name| alike.parameters(name)), ["(int)", ""]);
    }

    #[test]
    fn where_parameters_are_alike_the_whole_name_stands() {
        let long = |inner: &str| format!("void app::{}<std::map<int, {inner}> >(int)", "f".repeat(90));
        let [a, b, c] = ["app::A", "app::B", "app::C"].map(long);
        let c = c.replace("(int)", "(long)");
        let alike = Alike::among([a.as_str(), b.as_str(), c.as_str()]);
        assert_eq!(alike.name(&a), a);
        assert_eq!(alike.name(&c), format!("app::{}<…>(long)", "f".repeat(90)));
    }
}
