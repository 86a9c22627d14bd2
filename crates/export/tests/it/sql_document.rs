//! The tables of `docs/sql.md` are what the columns' declarations say. `UPDATE_SQL=1 cargo test -p memtoll-export` writes them.

use std::path::Path;

const HEAD: &str = "## Tables\n\n";

#[test]
fn the_document_says_what_the_columns_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md");
    let found = std::fs::read_to_string(&path).unwrap();
    let (before, _) = found.split_once(HEAD).expect("docs/sql.md has a heading for the tables");
    let text = format!("{before}{HEAD}{}\n", memtoll_export::parquet::document().trim_end());
    if std::env::var_os("UPDATE_SQL").is_some() {
        std::fs::write(&path, &text).unwrap();
        return;
    }
    assert!(found == text, "docs/sql.md is not what the columns say: UPDATE_SQL=1 cargo test -p memtoll-export");
}
