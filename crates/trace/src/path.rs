//! Paths as text: those of a recording may be of another machine.

/// What is behind the last slash: the name of a file or program.
pub fn last_part(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, last)| last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_without_slashes_is_its_own_last_part() {
        assert_eq!(["/usr/bin/git", "git", "a/", ""].map(last_part), ["git", "git", "", ""]);
    }
}
