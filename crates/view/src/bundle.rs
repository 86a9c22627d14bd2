//! The front end. `make viewer` builds it from `viewer/` and compresses it into one file, which is committed: to build
//! memtoll takes no node. A test of the front end checks that the file is what the sources give.

use flate2::read::GzDecoder;
use serde::Deserialize;
use std::io::Read;
use std::sync::OnceLock;

const PACKED: &[u8] = include_bytes!("../bundle.json.gz");

/// The files of the front end.
#[derive(Default, Deserialize)]
pub struct Bundle {
    pub script: String,
    /// The one style sheet.
    pub style: String,
    /// Licenses of the packages that the script contains.
    pub licenses: String,
}

impl Bundle {
    /// The embedded one. It is empty if the embedded file is damaged, which a test excludes.
    pub fn embedded() -> &'static Bundle {
        static BUNDLE: OnceLock<Bundle> = OnceLock::new();
        BUNDLE.get_or_init(|| {
            let mut text = String::new();
            let read = GzDecoder::new(PACKED).read_to_string(&mut text);
            read.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_front_end_is_whole_and_small() {
        let bundle = Bundle::embedded();
        assert!(bundle.script.contains("DecompressionStream") && bundle.style.contains('{'));
        assert!(bundle.licenses.contains("preact") && bundle.licenses.contains("uplot"));
        assert!(PACKED.len() < 250_000, "{} bytes", PACKED.len());
        // Both stand in a page.
        assert!(!bundle.script.contains("</script") && !bundle.style.contains("</style"));
    }
}
