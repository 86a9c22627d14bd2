//! Indents the outer levels of JSON only. A call tree may have hundreds of levels: indented, nearly all of the text would be
//! spaces.

use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};
use std::io::{Result, Write};

/// What lies deeper is one line: tables and the first levels of trees lie above.
const INDENTED: usize = 10;

/// Writes the outer levels as serde_json does for readers, and the inner ones without spaces.
#[derive(Default)]
pub struct OuterLevels {
    pretty: PrettyFormatter<'static>,
    level: usize,
}

/// Each method: its argument, how many levels deeper it goes first, and how many it comes back afterwards.
macro_rules! by_level {
    ($($name:ident($($argument:ident: $kind:ty)?) $deeper:literal $back:literal;)*) => {$(
        fn $name<W: ?Sized + Write>(&mut self, out: &mut W $(, $argument: $kind)?) -> Result<()> {
            self.level += $deeper;
            let written = match self.level <= INDENTED {
                true => self.pretty.$name(out $(, $argument)?),
                false => CompactFormatter.$name(out $(, $argument)?),
            };
            self.level -= $back;
            written
        }
    )*};
}

impl Formatter for OuterLevels {
    by_level! {
        begin_array() 1 0;
        end_array() 0 1;
        begin_object() 1 0;
        end_object() 0 1;
        begin_array_value(first: bool) 0 0;
        end_array_value() 0 0;
        begin_object_key(first: bool) 0 0;
        begin_object_value() 0 0;
        end_object_value() 0 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;
    use serde_json::{Serializer, Value, json};

    fn text(value: &Value) -> String {
        let mut bytes = Vec::new();
        value.serialize(&mut Serializer::with_formatter(&mut bytes, OuterLevels::default())).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn what_is_not_deep_is_indented_as_usual() {
        let value = json!({"a": [1, {"b": []}, {}], "c": {"d": null}});
        assert_eq!(text(&value), serde_json::to_string_pretty(&value).unwrap());
    }

    #[test]
    fn a_deep_tree_grows_with_its_nodes_only() {
        let tree = |levels| (0..levels).fold(json!([1, 2]), |inner, _| json!({"children": [inner, {}], "n": 1}));
        let [short, long] = [100, 200].map(|levels| text(&tree(levels)));
        let a_level = r#"{"children":[,{}],"n":1}"#.len();
        assert_eq!(long.len() - short.len(), 100 * a_level);
        let value = tree(30);
        assert_eq!(serde_json::from_str::<Value>(&text(&value)).unwrap(), value);
    }
}
