//! Fills, changes and drops maps of strings and vectors, as a server does with its requests.

use std::collections::{BTreeMap, HashMap};

fn request(number: u64, index: &mut HashMap<String, Vec<u64>>, sorted: &mut BTreeMap<String, String>) -> usize {
    let key = format!("user-{}", number * 7919 % 5003);
    index.entry(key.clone()).or_default().push(number);
    let parts: Vec<String> = (0..4).map(|part| format!("{key}/{part}")).collect();
    let path = parts.join("&");
    let length = path.len();
    sorted.insert(key, path);
    if number % 16 == 0 {
        sorted.pop_first();
    }
    length
}

fn main() {
    let mut index = HashMap::new();
    let mut sorted = BTreeMap::new();
    let total: usize = (0..300_000).map(|number| request(number, &mut index, &mut sorted)).sum();
    println!("{total} {} {}", index.len(), sorted.len());
}
