// Boxes, vectors, strings, maps and a caught panic.
use std::collections::BTreeMap;
use std::hint::black_box;

#[inline(never)]
fn fill_boxes() -> usize {
    let boxes: [Box<u64>; 100] = std::array::from_fn(|i| Box::new(i as u64));
    black_box(&boxes).len()
}

#[inline(never)]
fn fill_vector() -> usize {
    // Capacities 4, 8 ... 1024: one allocation and eight reallocations.
    let mut vector: Vec<u64> = Vec::new();
    for i in 0..1000 {
        vector.push(black_box(i));
    }
    vector.len()
}

#[inline(never)]
fn make_strings() -> usize {
    (0..20).map(|_| black_box("x".repeat(100)).len()).sum()
}

#[inline(never)]
fn fill_zeroed() -> usize {
    (0..10).map(|_| black_box(vec![0u8; 5000]).len()).sum()
}

#[inline(never)]
fn fill_aligned() -> usize {
    #[repr(align(128))]
    struct Wide(#[allow(dead_code)] [u8; 128]);
    (0..15).map(|_| &raw const *black_box(Box::new(Wide([1; 128]))) as usize % 128).sum()
}

fn main() {
    let map: BTreeMap<u32, u32> = (0..100).map(|i| (i, i)).collect();
    std::panic::set_hook(Box::new(|_| {}));
    let panics = (0..10).filter(|_| std::panic::catch_unwind(|| panic!("on purpose")).is_err()).count();
    let thread = std::thread::Builder::new().name("a thread of rust".into()).spawn(fill_boxes).unwrap().join().unwrap();
    println!("{} {panics} {thread}", map.len());
    println!("{} {} {} {} {}", fill_boxes(), fill_vector(), make_strings(), fill_zeroed(), fill_aligned());
}
