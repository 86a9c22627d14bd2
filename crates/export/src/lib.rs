//! Recordings as files for other programs. `docs/export.md` describes each format.
//!
//! Every format shows the stacks as the report does, and the sums of each are the report's for the same selection; what a
//! format cannot carry, it says.

pub mod atomic_file;
pub mod callgrind;
mod code_locations;
mod collapsed;
mod dhat;
pub mod firefox;
mod format;
pub mod heaptrack;
mod intervals;
mod labels;
mod metrics;
pub mod otlp;
pub mod parquet;
pub mod perfetto;
pub mod pprof;
mod proportional_shares;
mod samples;
mod speedscope;
mod text_table;

pub use collapsed::Collapsed;
pub use format::Format;

/// All formats.
pub const ALL: &[&dyn Format] = &[
    &pprof::Pprof,
    &speedscope::Speedscope,
    &firefox::Firefox,
    &perfetto::Perfetto,
    &parquet::Parquet::SUMS,
    &callgrind::Callgrind,
    &dhat::Dhat,
    &heaptrack::Heaptrack,
    &otlp::Otlp,
    &Collapsed,
];

/// The one that is called so.
pub fn named(name: &str) -> Option<&'static dyn Format> {
    ALL.iter().copied().find(|format| format.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_has_a_section_in_the_docs() {
        let docs = include_str!("../../../docs/export.md");
        for format in ALL {
            let name = format.name();
            assert!(docs.lines().any(|line| line == format!("## {name}")), "docs/export.md has no section {name}");
        }
    }
}
