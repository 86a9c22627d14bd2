// Containers whose blocks are all alike: how many elements each has room for.
use std::collections::{HashMap, HashSet, VecDeque};
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;

#[derive(Clone, Copy, Default)]
pub struct Row(pub [u64; 3]);

#[inline(never)]
fn vector() -> Vec<Row> {
    Vec::with_capacity(70)
}

#[inline(never)]
fn deque() -> VecDeque<Row> {
    VecDeque::with_capacity(100)
}

#[inline(never)]
fn map() -> HashMap<u64, Row> {
    HashMap::with_capacity(100)
}

#[inline(never)]
fn set() -> HashSet<u32> {
    HashSet::with_capacity(1000)
}

#[inline(never)]
fn boxed(rows: &Box<[Row]>) -> Box<[Row]> {
    rows.clone()
}

#[inline(never)]
fn counted(rows: &[Row]) -> Rc<[Row]> {
    Rc::from(rows)
}

#[inline(never)]
fn shared(rows: &[Row]) -> Arc<[Row]> {
    Arc::from(rows)
}

#[inline(never)]
fn text(letters: &str) -> Arc<str> {
    Arc::from(letters)
}

fn main() {
    let rows: Box<[Row]> = vec![Row::default(); black_box(50)].into();
    for _ in 0..10 {
        assert!(black_box(map()).capacity() == 112 && black_box(set()).capacity() == 1792);
        black_box((vector(), deque(), boxed(&rows), counted(&rows), shared(&rows), text("hello world")));
    }
}
