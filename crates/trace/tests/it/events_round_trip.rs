//! Whatever happens in a program comes back from an events block exactly.

use memtoll_trace::event::{Block, Event};
use memtoll_trace::events::{Decoder, Encoder, MAX_EVENTS, MAX_THREADS};
use memtoll_trace::ids::{Address, BlockNo, Bytes, NodeId, ThreadNo, Units};
use memtoll_trace::op::{Effect, Op};
use proptest::prelude::*;

const MALLOC: Op = Op::MALLOC;
const ALIGNED: Op = Op::ALIGNED_ALLOC;
const FREE: Op = Op::FREE;

/// One thing that a program does.
#[derive(Clone, Debug)]
enum Step {
    Acquire {
        op: Op,
        size: u64,
        again: bool,
        address: u64,
        detail: u16,
    },
    Fail {
        op: Op,
        size: u64,
    },
    Release {
        which: usize,
    },
    ReleaseNull,
    ReleaseUnknown {
        address: u64,
    },
    Reallocate {
        which: usize,
        size: u64,
        moves: bool,
    },
    /// A block from a pool, with the bytes of another block.
    HandOut {
        which: usize,
        size: u64,
        address: u64,
        detail: u16,
    },
    Map {
        op: Op,
        size: u64,
        address: u64,
        detail: u16,
    },
    /// The events so far become a block.
    Cut,
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![Just(24), Just(32), Just(0), 1..5000u64, 0..1u64 << 48]
}

fn address() -> impl Strategy<Value = u64> {
    prop_oneof![(1u64..4000).prop_map(|granule| 0x5555_0000_0000 + granule * 16), 1..u64::MAX, Just(u64::MAX)]
}

fn detail() -> impl Strategy<Value = u16> {
    prop_oneof![Just(0), Just(6), any::<u16>()]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (prop_oneof![Just(MALLOC), Just(ALIGNED)], size(), any::<bool>(), address(), detail())
            .prop_map(|(op, size, again, address, detail)| Step::Acquire { op, size, again, address, detail }),
        1 => (Just(MALLOC), size()).prop_map(|(op, size)| Step::Fail { op, size }),
        8 => any::<usize>().prop_map(|which| Step::Release { which }),
        1 => Just(Step::ReleaseNull),
        1 => address().prop_map(|address| Step::ReleaseUnknown { address }),
        2 => (any::<usize>(), size(), any::<bool>()).prop_map(|(which, size, moves)| Step::Reallocate { which, size, moves }),
        2 => (any::<usize>(), size(), address(), detail())
            .prop_map(|(which, size, address, detail)| Step::HandOut { which, size, address, detail }),
        1 => (prop_oneof![Just(Op::MMAP), Just(Op::MUNMAP), Just(Op::MREMAP.release_half()), Just(Op::TOUCHED)], size(), address(), detail())
            .prop_map(|(op, size, address, detail)| Step::Map { op, size, address, detail }),
        1 => Just(Step::Cut),
    ]
}

fn thread_of(number: u32) -> ThreadNo {
    ThreadNo::new(number).unwrap()
}

/// How much later, by which thread, from which stack, how long.
type Circumstances = (u64, ThreadNo, Option<NodeId>, u64);

fn circumstances() -> impl Strategy<Value = Circumstances> {
    let time = prop_oneof![8 => 0..200u64, 1 => 250..260u64, 1 => 0..1u64 << 50];
    let duration = prop_oneof![8 => 0..20u64, 1 => 250..260u64, 1 => 0..1u64 << 60];
    let thread = prop_oneof![8 => Just(1u32), 2 => 1..5u32, 1 => 1..MAX_THREADS];
    let node = prop_oneof![8 => 8..20u32, 1 => any::<u32>()];
    (time, thread.prop_map(thread_of), node.prop_map(NodeId::new), duration)
}

/// Runs the steps: the events, cut into blocks.
fn run(steps: Vec<(Step, Circumstances)>) -> Vec<Vec<Event>> {
    let mut blocks = vec![Vec::new()];
    let (mut live, mut freed): (Vec<(u64, u64)>, Vec<u64>) = (Vec::new(), Vec::new());
    let (mut next, mut first, mut time) = (0, 0, 0u64);
    for (step, (elapsed, thread, node, duration)) in steps {
        time += elapsed;
        let events = blocks.last_mut().unwrap();
        let mut push = |op, size, address, block, detail| {
            let (time, duration, size, address) = (Units(time), Units(duration), Bytes(size), Address(address));
            events.push(Event { time, duration, size, address, block, node, thread, detail, op });
        };
        let pick = |which: usize, live: &mut Vec<(u64, u64)>| match live.len() {
            0 => None,
            // Mostly the last ones, as programs do.
            count => {
                Some(live.swap_remove(count - 1 - which % count.min(if which.is_multiple_of(5) { count } else { 3 })))
            }
        };
        match step {
            Step::Acquire { op, size, again, address, detail } => {
                let address = if again { freed.pop().unwrap_or(address) } else { address };
                push(op, size, address, Block::Number(BlockNo(next)), detail);
                live.push((next, address));
                next += 1;
            }
            Step::Fail { op, size } => push(op, size, 0, Block::Null, 0),
            Step::ReleaseNull => push(FREE, 0, 0, Block::Null, 0),
            Step::ReleaseUnknown { address } => push(FREE, 0, address, Block::Unknown, 0),
            Step::Map { op, size, address, detail } => push(op, size, address, Block::None, detail),
            Step::Release { which } => {
                if let Some((number, address)) = pick(which, &mut live) {
                    push(FREE, 0, if number >= first { address } else { 0 }, Block::Number(BlockNo(number)), 0);
                    freed.push(address);
                }
            }
            Step::Reallocate { which, size, moves } => {
                if let Some((number, address)) = pick(which, &mut live) {
                    let known = if number >= first { address } else { 0 };
                    push(Op::REALLOC.release_half(), 0, known, Block::Number(BlockNo(number)), 0);
                    let address = if moves { address ^ 0x7000 | 16 } else { address };
                    push(Op::REALLOC, size, address, Block::Number(BlockNo(next)), 0);
                    live.push((next, address));
                    next += 1;
                }
            }
            Step::HandOut { which, size, address, detail } => {
                if let Some(&(number, lender)) = live.get(which % live.len().max(1)) {
                    push(Op::LEND, 0, if number >= first { lender } else { 0 }, Block::Number(BlockNo(number)), 0);
                }
                push(Op::POOL_ALLOC, size, address, Block::Number(BlockNo(next)), detail);
                live.push((next, address));
                next += 1;
            }
            Step::Cut => {
                blocks.push(Vec::new());
                first = next;
            }
        }
    }
    blocks.retain(|events| !events.is_empty());
    blocks
}

fn encode(encoder: &mut Encoder, blocks: &[Vec<Event>]) -> Vec<Vec<u8>> {
    let payload = |events: &Vec<Event>| {
        let mut payload = Vec::new();
        events.iter().for_each(|event| encoder.push(event));
        assert_eq!(encoder.len(), events.len());
        encoder.finish(&mut payload);
        assert!(encoder.is_empty());
        payload
    };
    blocks.iter().map(payload).collect()
}

fn round_trip(blocks: &[Vec<Event>]) {
    let mut encoder = Encoder::new();
    let payloads = encode(&mut encoder, blocks);
    encoder.begin_image();
    assert_eq!(encode(&mut encoder, blocks), payloads);
    // Backwards: every block can be read alone.
    let mut decoder = Decoder::new();
    let mut decoded = Vec::new();
    for (events, payload) in blocks.iter().zip(&payloads).rev() {
        let header = decoder.decode(payload, &mut decoded).unwrap();
        assert_eq!(&decoded, events);
        assert_eq!(header.count, events.len());
        assert_eq!((header.first_time, header.last_time), (events[0].time, events[events.len() - 1].time));
        assert_eq!(header, memtoll_trace::events::read_header(payload).unwrap());
    }
}

proptest! {
    #[test]
    fn events_come_back(steps in proptest::collection::vec((step(), circumstances()), 0..400)) {
        round_trip(&run(steps));
    }

    /// A damaged block is an error or other events, never a panic.
    #[test]
    fn damage_is_survived(
        steps in proptest::collection::vec((step(), circumstances()), 1..100),
        damage in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4),
    ) {
        let mut decoder = Decoder::new();
        let mut decoded = Vec::new();
        for events in run(steps) {
            let mut encoder = Encoder::new();
            let mut payload = Vec::new();
            // Numbers of blocks begin anew, as the encoder does.
            let first = events.iter().find_map(|event| match (event.op.effect(), event.block) {
                (Effect::Acquire, Block::Number(number)) => Some(number),
                _ => None,
            });
            for event in &events {
                let block = match (event.block, first) {
                    (Block::Number(number), Some(first)) if number >= first => Block::Number(BlockNo(number.0 - first.0)),
                    (Block::Number(_), _) => Block::Unknown,
                    (other, _) => other,
                };
                encoder.push(&Event { block, ..*event });
            }
            encoder.finish(&mut payload);
            for &(at, with) in &damage {
                let at = at % payload.len();
                payload[at] ^= with;
            }
            if decoder.decode(&payload, &mut decoded).is_ok() {
                prop_assert!(decoded.len() <= MAX_EVENTS);
            }
        }
    }
}

/// A full block with as many sites, threads and size classes as can be.
#[test]
fn a_full_block_of_strangers_comes_back() {
    let event = |i: u64| Event {
        time: Units(i * 1000),
        duration: Units(i),
        size: Bytes(i * 8),
        address: Address(0x1000 + i * 4096 + i % 16),
        block: Block::Number(BlockNo(i)),
        node: NodeId::new((i as u32).wrapping_mul(0x9e37_79b9)),
        thread: thread_of(i as u32 % 300 + 1),
        detail: i as u16,
        op: MALLOC,
    };
    let events: Vec<Event> = (0..MAX_EVENTS as u64).map(event).collect();
    let more: Vec<Event> = (MAX_EVENTS as u64..MAX_EVENTS as u64 + 10).map(event).collect();
    round_trip(&[events, more]);
}

/// Readers have tables by the numbers of threads: a damaged one would take all memory.
#[test]
fn a_thread_beyond_all_numbers_is_damage() {
    for threads in [[MAX_THREADS, 1], [1, u32::MAX]] {
        let mut encoder = Encoder::new();
        for thread in threads {
            let (block, op, node, thread) = (Block::Unknown, FREE, NodeId::new(8), thread_of(thread));
            let event = Event {
                time: Units(1),
                duration: Units::ZERO,
                size: Bytes::ZERO,
                address: Address::NULL,
                block,
                node,
                thread,
                detail: 0,
                op,
            };
            encoder.push(&event);
        }
        let mut payload = Vec::new();
        encoder.finish(&mut payload);
        assert!(Decoder::new().decode(&payload, &mut Vec::new()).is_err());
    }
}
