//! The name that was probably meant.

/// The candidate that is most like a name, if one is like it at all. A function that moved to another namespace, or whose
/// name changed by some letters, is found.
pub fn nearest<'n>(name: &str, candidates: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    /// Less is another name.
    const LEAST: f64 = 0.6;
    let last = |name: &str| name.rsplit("::").next().unwrap_or(name).to_owned();
    let own = last(name);
    let alike = |other: &str| {
        let whole = strsim::normalized_damerau_levenshtein(name, other);
        whole.max(strsim::normalized_damerau_levenshtein(&own, &last(other)) * 0.99)
    };
    let all = candidates.map(|candidate| (alike(candidate), candidate)).filter(|(alike, _)| *alike >= LEAST);
    // Of equals, the first by name: the order of candidates is that of a table.
    all.max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1))).map(|(_, candidate)| candidate)
}

/// `; the nearest name is "parse"`, or nothing.
pub fn hint<'n>(name: &str, candidates: impl Iterator<Item = &'n str>) -> String {
    nearest(name, candidates).map_or(String::new(), |found| format!("; the nearest name is \"{found}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_the_one_that_was_meant() {
        let of = |name: &str| nearest(name, ["main", "json::parse_value", "render", "parse"].into_iter());
        assert_eq!(of("rendr"), Some("render"));
        assert_eq!(of("parse_value"), Some("json::parse_value"));
        assert_eq!(of("xml::parse"), Some("parse"));
        assert_eq!(of("unrelated_thing"), None);
    }
}
