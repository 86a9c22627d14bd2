//! All end-to-end tests are one program: it is linked once, and its tests keep all processors busy to the end.

mod advice;
mod allocation_functions;
mod allocators;
mod attach;
mod bounded_advice;
mod budgets;
mod calibration;
mod case_study_camera;
mod case_study_dictionary;
mod case_study_serializer;
mod case_study_terminal;
mod command_line;
mod concepts_document;
mod control_flow;
mod costs_faults;
mod costs_lost;
mod costs_mappings;
mod costs_refused;
mod costs_time;
mod cuts;
mod cxx_operators;
mod each_test;
mod exit_codes;
mod export;
mod failures;
mod first_screen;
mod fleet;
mod generated_code;
mod global_variables;
mod growth;
mod hook_list;
mod install;
mod layouts;
mod loading;
mod lost_blocks;
mod machine;
mod musl;
mod names;
mod namespaces;
mod not_recordable;
mod page_looks;
mod patches;
mod plain_names;
mod pools;
mod processes;
mod recorded_and_shown;
mod redirected;
mod replays;
mod report_formats;
mod resident;
mod resident_pages;
mod same_names;
mod sandboxes;
mod shortages;
mod signed_advice;
mod snippets;
mod spans;
mod sums_agree;
mod symbols_later;
mod tables;
mod threads;
mod tryout;
mod tui;
mod valgrind;
mod verified_parts;
mod what_helps;

/// Cargo would not miss a file that nobody named here.
#[test]
fn each_file_is_a_part_of_this_program() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let named = include_str!("main.rs");
    for file in std::fs::read_dir(folder).expect("the tests are there") {
        let path = file.expect("a file").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a plain name");
        let is_part = path.is_dir() || stem == "main" || named.contains(&format!("\nmod {stem};\n"));
        assert!(is_part, "{} is not named in main.rs", path.display());
    }
}
