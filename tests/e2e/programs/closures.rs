// What a default release build makes of threads and closures: everything is inlined into the standard library's functions.
// Each function is known by its counts.
use std::collections::HashMap;
use std::hint::black_box;
use std::rc::Rc;
use std::thread;

#[derive(Clone)]
struct Word {
    text: String,
    tags: Vec<u32>,
}

fn words(count: usize) -> Vec<Word> {
    let mut words = Vec::with_capacity(count);
    words.extend((0..count).map(|_| Word { text: black_box("four").to_string(), tags: vec![1, 2, 3] }));
    words
}

fn shared(count: usize) -> usize {
    (0..count).map(|i| Rc::new(black_box(i as u64))).filter(|i| **i % 2 == 0).count()
}

fn main() {
    let first = thread::spawn(|| {
        let words = words(700);
        black_box(words.clone()).len()
    });
    let second = thread::spawn(|| {
        let mut counts: HashMap<u64, u64> = HashMap::new();
        counts.reserve(50);
        black_box(&mut counts).insert(1, 2);
        shared(900)
    });
    println!("{} {}", first.join().unwrap(), second.join().unwrap());
}
