//! The worked bytes of `format/FORMAT.md` are what the code writes and reads.

use memtoll_trace::costs::{self, Cost, CostKind, Place};
use memtoll_trace::event::{Block, Event};
use memtoll_trace::events::{Decoder, Encoder};
use memtoll_trace::frame::{BlockKind, Header, MAJOR, MINOR, SIGNATURE_BYTES, signature};
use memtoll_trace::ids::{Address, BlockNo, Bytes, NodeId, ThreadNo, Units};
use memtoll_trace::nodes::{self, Node};
use memtoll_trace::op::Op;
use memtoll_trace::writer::Writer;

/// The bytes of the dump that follows the marker `<!-- worked: NAME -->`.
fn worked(name: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../format/FORMAT.md");
    let text = std::fs::read_to_string(path).unwrap();
    let marker = format!("<!-- worked: {name} -->");
    let dump = text.split(&marker).nth(1).unwrap_or_else(|| panic!("no {marker}")).split("```").nth(1).unwrap();
    let bytes_of = |line: &str| -> Vec<u8> {
        // Three blanks and more lead to the explanation.
        let hex = line.split("   ").next().unwrap_or_default();
        hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
    };
    dump.lines().flat_map(bytes_of).collect()
}

#[test]
fn a_note_block() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.block(BlockKind::Note, None, b"{}").unwrap();
    assert_eq!(writer.sink_mut()[SIGNATURE_BYTES..], worked("note"));
    assert_eq!(Header::of(BlockKind::Note, None, b"{}").bytes()[..], worked("note")[..20]);
}

#[test]
fn two_nodes() {
    let packed = zstd::bulk::compress(&worked("nodes"), 1).unwrap();
    let node = |id, parent, address| {
        let (id, parent) = (NodeId::new(id).unwrap(), NodeId::new(parent));
        Node { id, parent, module: 1, address, without_tables: false }
    };
    let expected = [node(8, 1, 0x1000), node(9, 8, 0x0ff0)];
    assert_eq!(nodes::decode(&packed).unwrap(), expected);
    let written = zstd::bulk::decompress(&nodes::encode(&expected), 1000).unwrap();
    assert_eq!(written, worked("nodes"));
}

#[test]
fn two_costs() {
    let fault = Cost {
        time: Units(1000),
        kind: CostKind::Fault,
        inside: None,
        thread: ThreadNo::new(1),
        amount: 17,
        node: NodeId::new(8),
        size: Bytes(262_144),
        place: Place::Code(3),
        holder: None,
    };
    let waiting = Cost {
        time: Units(900),
        kind: CostKind::Waiting,
        inside: Some(Units(700)),
        thread: ThreadNo::new(2),
        amount: 300,
        size: Bytes(32),
        place: Place::call(NodeId::new(9)),
        holder: ThreadNo::new(1),
        ..fault
    };
    let written = zstd::bulk::decompress(&costs::encode(&[fault, waiting]), 1000).unwrap();
    let hex: Vec<String> = written.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(written, worked("costs"), "{}", hex.join(" "));
    let packed = zstd::bulk::compress(&worked("costs"), 1).unwrap();
    assert_eq!(costs::decode(&packed).unwrap(), [fault, waiting]);
}

#[test]
fn the_version() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../format/FORMAT.md")).unwrap();
    assert!(text.contains(&format!("Version {MAJOR}.{MINOR}.")));
    assert_eq!(signature()[..], worked("signature"));
}

#[test]
fn three_events() {
    let event = |op, time, duration, size, address, block| Event {
        time: Units(time),
        duration: Units(duration),
        size: Bytes(size),
        address: Address(address),
        block: Block::Number(BlockNo(block)),
        node: NodeId::new(8),
        thread: ThreadNo::FIRST,
        detail: 0,
        op,
    };
    let (malloc, free) = (Op::MALLOC, Op::FREE);
    let events =
        [event(malloc, 100, 3, 32, 0x5000, 0), event(free, 300, 2, 0, 0x5000, 0), event(malloc, 700, 1, 32, 0x5000, 1)];
    let mut encoder = Encoder::new();
    events.iter().for_each(|event| encoder.push(event));
    let mut payload = Vec::new();
    encoder.finish(&mut payload);
    let hex: Vec<String> = payload.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(payload, worked("events"), "{}", hex.join(" "));
    let mut decoded = Vec::new();
    Decoder::new().decode(&worked("events"), &mut decoded).unwrap();
    assert_eq!(decoded, events);
}
