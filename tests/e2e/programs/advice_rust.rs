// One problem with memory for each name, and how it looks when it is solved: advice_rust NAME [fixed].
use std::collections::HashMap;
use std::fmt::Write;
use std::hint::black_box;

struct Node {
    value: [u64; 4],
}

#[inline(never)]
fn fill_vec(is_fixed: bool) {
    for _ in 0..20 {
        let mut numbers: Vec<u64> = if is_fixed { Vec::with_capacity(500_000) } else { Vec::new() };
        for i in 0..500_000 {
            numbers.push(i);
            if !is_fixed && i % 100_000 == 0 {
                // Something behind it keeps it from growing where it is.
                black_box(Box::new(i));
            }
        }
        black_box(&numbers);
    }
}

#[inline(never)]
fn make_nodes(is_fixed: bool) {
    for _ in 0..5 {
        if is_fixed {
            let nodes: Vec<Node> = (0..200_000).map(|i| Node { value: [i; 4] }).collect();
            black_box(&nodes);
            continue;
        }
        let mut nodes: Vec<Box<Node>> = Vec::with_capacity(200_000);
        for i in 0..200_000 {
            nodes.push(Box::new(Node { value: [i; 4] }));
        }
        black_box(nodes.last().map(|node| node.value[0]));
    }
}

#[inline(never)]
fn write_numbers(is_fixed: bool) -> usize {
    let mut length = 0;
    let mut text = String::with_capacity(64);
    for i in 0..300_000u32 {
        if is_fixed {
            text.clear();
            let _ = write!(text, "number {i}");
            length += text.len();
        } else {
            length += black_box(format!("number {i}")).len();
        }
    }
    length
}

#[inline(never)]
fn compute() -> u64 {
    (0..40_000_000u64).fold(1, |value, i| black_box(value.wrapping_mul(31).wrapping_add(i)))
}

/// Views into one text, in a table with room for all.
#[inline(never)]
fn count_words() -> usize {
    let text: String = (0..200_000u32).map(|i| ["a ", "rose ", "is ", "red "][i as usize * 7 % 4]).collect();
    let mut counts: HashMap<&str, usize> = HashMap::with_capacity(16);
    for word in text.split_ascii_whitespace() {
        *counts.entry(word).or_default() += 1;
    }
    counts["rose"]
}

fn main() {
    let mut words = std::env::args().skip(1);
    let (name, is_fixed) = (words.next().unwrap_or_default(), words.next().is_some());
    match name.as_str() {
        "growth" => fill_vec(is_fixed),
        "arena" => make_nodes(is_fixed),
        "formatting" => drop(black_box(write_numbers(is_fixed))),
        "clean" => drop(black_box(compute())),
        "clean-words" => drop(black_box(count_words())),
        _ => std::process::exit(1),
    }
    black_box(compute());
}
