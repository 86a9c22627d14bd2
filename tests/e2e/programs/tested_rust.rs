// Compiled with --test.
use std::hint::black_box;

#[test]
fn makes_many() {
    (0..1000).for_each(|i| drop(black_box(Box::new(i))));
}

#[test]
fn makes_none() {}

#[test]
fn makes_none_and_more() {}

#[test]
fn fails() {
    panic!("it fails");
}

#[test]
#[ignore]
fn makes_many_when_asked() {
    makes_many();
}
