//! operator new and delete, the standard library above them, and Rust.

use memtoll_e2e::{Target, program, program_with};

/// libstdc++ allocates its reserve for exceptions, once, when it is loaded.
const RESERVE: u64 = 1;

#[test]
fn every_form_of_new_and_delete_is_counted_once() {
    for flags in [&["-O0"][..], &["-O2"], &["-O3"], &["-O2", "-fno-omit-frame-pointer"]] {
        let report = Target::new(program_with("operators.cpp", flags)).record().report();
        let expected = [
            ("plain", 11),
            ("array", 13),
            ("nothrow_plain", 15),
            ("nothrow_array", 17),
            ("aligned_plain", 19),
            ("aligned_array", 21),
            ("aligned_nothrow_plain", 23),
            ("aligned_nothrow_array", 25),
        ];
        report.expect_new_blocks(&expected);
        for (function, count) in expected {
            let metrics = report.function(function);
            assert_eq!((function, metrics.bytes), (function, 24 * count));
            assert_eq!((function, metrics.live_blocks), (function, 0));
        }
        let totals = &report.totals.metrics;
        // Each operator calls malloc or free (or aligned_alloc) in turn, which must not be counted again.
        assert_eq!((totals.new_blocks, totals.frees), (144 + RESERVE, 144));
        assert_eq!(report.function("main").frees, 144);
    }
}

#[test]
fn operators_of_the_program_itself_go_on_working() {
    let report = Target::new(program("own_operators.cpp")).record().report();
    let totals = &report.totals.metrics;
    // Nothing is left to take from libstdc++, so the linker leaves it out, and its reserve with it.
    assert_eq!((totals.new_blocks, totals.frees, totals.bytes), (100, 100, 400));
    assert_eq!(report.new_blocks("make_things"), 100);
}

#[test]
fn the_line_of_the_users_own_code_leads() {
    let report = Target::new(program("containers.cpp")).record().report();
    report.expect_new_blocks(&[
        ("fill_vector", 11),
        ("fill_reserved", 1),
        ("fill_map", 100),
        ("fill_list", 50),
        ("make_strings", 20),
        ("make_shared_ones", 30),
        ("make_unique_ones", 40),
    ]);
    for site in report.sites.iter().filter(|site| site.is_in("fill_vector") || site.is_in("fill_map")) {
        let file = site.file.as_deref().unwrap_or_default();
        assert!(file.ends_with("containers.cpp"), "{site:?}");
    }
    assert_eq!(report.function("fill_vector").bytes, 8 * (2 * 1024 - 1));
    assert_eq!(report.function("fill_reserved").bytes, 8 * 1000);
    assert_eq!(report.totals.metrics.new_blocks, 252 + RESERVE);
    assert_eq!(report.totals.metrics.live_blocks, RESERVE);
}

#[test]
fn the_element_type_is_read_from_the_inline_chain() {
    let report = Target::new(program("containers.cpp")).record().report();
    let vector = report.sites.iter().find(|site| site.is_in("fill_reserved")).expect("a site in fill_reserved");
    let element = vector.element_type.as_deref().unwrap_or_default();
    assert!(element.contains("Sample"), "{vector:?}");
}

#[test]
fn inlined_callers_are_shown() {
    let report = Target::new(program("inlined.cpp")).record().report();
    assert_eq!(report.new_blocks("print_page"), 200);
    let allocating = report.sites.iter().filter(|site| site.is_in("print_page") && site.metrics.new_blocks > 0);
    for site in allocating {
        let chain: Vec<String> = std::iter::once(&site.function)
            .chain(site.inlined.iter().map(|frame| &frame.function))
            .map(|function| memtoll_e2e::plain_name(function))
            .collect();
        assert_eq!(chain, ["Line::Line", "Page::Page", "print_page"], "{site:?}");
        let files = site.inlined.iter().map(|frame| frame.file.as_deref().unwrap_or_default());
        assert!(files.into_iter().all(|file| file.ends_with("inlined.cpp")), "{site:?}");
    }
    // The title and the body are two calls on two lines of the constructor, or two places of one line.
    let bytes: u64 = report.function("print_page").bytes;
    assert_eq!(bytes, 100 * (10 + 80) * 4);
}

#[test]
fn out_of_memory_stays_what_it_is() {
    let report = Target::new(program("bad_alloc.cpp")).record().report();
    let works = report.function("works");
    assert_eq!((works.new_blocks, works.bytes, works.live_blocks), (5, 500, 0));
    assert!(report.totals.metrics.bytes < 1 << 30, "{:?}", report.totals);
    assert!(report.totals.metrics.peak_bytes < 1 << 30, "{:?}", report.totals);
}

#[test]
fn rust_programs_are_recorded() {
    for flags in [&["-O0"][..], &["-O2"], &["-O3"]] {
        let report = Target::new(program_with("rust.rs", flags)).record().report();
        report.expect_new_blocks(&[
            ("fill_boxes", 200),
            ("fill_vector", 1),
            ("make_strings", 20),
            ("fill_zeroed", 10),
            ("fill_aligned", 15),
        ]);
        assert_eq!(report.function("fill_vector").reallocations, 8);
        assert_eq!(report.function("fill_aligned").bytes, 15 * 128);
        assert_eq!(report.function("fill_zeroed").bytes, 10 * 5000);
        let raw: Vec<_> = report.sites.iter().filter(|site| site.function.starts_with("_R")).collect();
        assert!(raw.is_empty(), "names that are not demangled: {raw:?}");
    }
}
