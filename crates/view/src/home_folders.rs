//! Takes home folders out of texts: a page that is passed on does not tell who made it, or where.

use regex::Regex;
use serde_json::Value;

/// Replaces home folders in texts.
pub struct Private {
    homes: Option<Regex>,
}

impl Private {
    /// For the home folder of the user who makes the page, and those of others by where home folders are.
    pub fn new(home: Option<&str>) -> Private {
        let own = home.filter(|home| home.len() > 1).map(|home| regex::escape(home.trim_end_matches('/')) + r"\b|");
        let pattern = format!(r"{}/home/[^/\s:'()]+|/Users/[^/\s:'()]+|/root\b", own.unwrap_or_default());
        Private { homes: Regex::new(&pattern).ok() }
    }

    /// Replaces them by `~` in a text.
    pub fn text(&self, text: &str) -> String {
        self.homes.as_ref().map_or_else(String::new, |homes| homes.replace_all(text, "~").into_owned())
    }

    /// The same in all texts of a value.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(value)),
            Value::Object(values) => {
                let renamed = std::mem::take(values).into_iter().map(|(name, mut value)| {
                    self.value(&mut value);
                    (self.text(&name), value)
                });
                *values = renamed.collect();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn home_folders_vanish() {
        let private = Private::new(Some("/data/people/jo"));
        let mut value =
            json!({"a": ["/home/ann/src/x.cpp", "/root/x", "/rooted/x"], "b": "in /data/people/jo/y", "/root/c": 7});
        private.value(&mut value);
        assert_eq!(value, json!({"a": ["~/src/x.cpp", "~/x", "/rooted/x"], "b": "in ~/y", "~/c": 7}));
    }
}
