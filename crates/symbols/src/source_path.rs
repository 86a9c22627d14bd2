//! Source paths in one spelling.

/// Takes `.`, `..` and doubled slashes out of a path, so that a header which two units reached by different ways is one
/// file. Works on the text only: the sources need not be on this machine.
pub(crate) fn normalize(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&last) if last != ".." => {
                    parts.pop();
                }
                // Nothing is above the root.
                _ if absolute => {}
                _ => parts.push(".."),
            },
            name => parts.push(name),
        }
    }
    let joined = parts.join("/");
    if absolute { format!("/{joined}") } else { joined }
}

#[cfg(test)]
mod tests {
    use super::normalize;

    #[test]
    fn one_spelling() {
        assert_eq!(normalize("/src/./a//b/../c.cpp"), "/src/a/c.cpp");
        assert_eq!(normalize("./csu/../sysdeps/start.S"), "sysdeps/start.S");
        assert_eq!(normalize("../../a.c"), "../../a.c");
        assert_eq!(normalize("/../a.c"), "/a.c");
        assert_eq!(normalize("a.c"), "a.c");
        assert_eq!(normalize(""), "");
    }
}
