//! How these tests find functions in reports.

use memtoll_e2e::{matches, plain_name};

#[test]
fn names_are_reduced_to_what_the_source_calls_them() {
    assert_eq!(plain_name("use_malloc"), "use_malloc");
    assert_eq!(plain_name("ROW::ROW(unsigned short, TextAttribute)"), "ROW::ROW");
    assert_eq!(plain_name("void (anonymous namespace)::fill<int>(int) [clone .part.0]"), "fill");
    assert_eq!(plain_name("work.constprop.0"), "work");
    assert_eq!(plain_name("program::fill_boxes"), "program::fill_boxes");
    assert!(matches("program::fill_boxes", "fill_boxes"));
    assert!(!matches("refill_boxes", "fill_boxes"));
    assert!(matches("program::fill_boxes::{{closure}}", "fill_boxes"));
}
