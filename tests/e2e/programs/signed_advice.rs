// A problem with memory for each name, in a build with line tables only, whose advice an engineer would sign.
use std::collections::BTreeMap;
use std::hint::black_box;

#[derive(Clone)]
struct Record {
    id: u64,
    name: String,
    bytes: [u64; 12],
}

#[inline(never)]
fn grow(rows: &[u64]) -> usize {
    let mut records = Vec::new();
    for row in rows {
        records.push(Record { id: *row, name: String::new(), bytes: [*row; 12] }); // grows
    }
    black_box(records.last().map(|record| record.bytes[3] + record.id));
    records.len()
}

#[inline(never)]
fn copy(records: &[Record]) -> usize {
    let mut groups: BTreeMap<u64, Vec<Record>> = BTreeMap::new();
    for record in records {
        groups.entry(record.id % 7).or_default().push(record.clone()); // copies that are kept
    }
    groups.values().map(|group| group.iter().map(|record| record.name.len()).sum::<usize>()).sum()
}

/// Bytes that come one by one; nothing else is allocated meanwhile, so the block can grow where it is.
#[inline(never)]
fn encode(n: u32) -> usize {
    let mut bytes: Vec<u8> = Vec::new();
    for i in 0..n {
        bytes.push(black_box(i as u8)); // grows in place
    }
    bytes.len()
}

#[inline(never)]
fn append(n: u32) -> usize {
    let mut list = String::new();
    for i in 0..n {
        list = format!("{list}{i},"); // copied each time
    }
    list.len()
}

fn main() {
    let rows: Vec<u64> = (0..600).collect();
    let length = match std::env::args().nth(1).as_deref() {
        Some("grow") => (0..3000).map(|_| grow(&rows)).sum(),
        Some("copy") => {
            let record = |id| Record { id, name: format!("a name of the record {id}"), bytes: [id; 12] };
            let records: Vec<Record> = (0..50_000).map(record).collect();
            copy(&records)
        }
        Some("encode") => (0..40).map(|_| encode(2_000_000)).sum(),
        Some("append") => (0..100).map(|_| append(400)).sum(),
        _ => 0,
    };
    println!("{length}");
}
