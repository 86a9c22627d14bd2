//! The tables `events` and `costs`: all that was recorded, one row each. Events are read from the recording as they are
//! written, so memory is bounded.

use super::column::Column;
use super::processes::image;
use super::runs::run_id;
use super::source::Source;
use memtoll_tally::Selection;
use memtoll_trace::costs::{Cost, CostKind, Place};
use memtoll_trace::event::{Block, Event as Recorded};
use memtoll_trace::ids::{ImageNo, NodeId, ThreadNo, Units};
use memtoll_trace::op::{Effect, Op};
use parquet::data_type::ByteArray;
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;

/// A call of an allocation function.
pub struct Event {
    image: ImageNo,
    thread: ThreadNo,
    time_ns: i64,
    duration_ns: Option<i64>,
    operation: Op,
    effect: u8,
    is_resize: bool,
    block: Option<i64>,
    bytes: Option<u64>,
    address: Option<u64>,
    stack_id: Option<u32>,
}

/// What an event does to memory, in words.
const EFFECTS: [&str; 7] = ["acquire", "release", "null", "failed", "lend", "touch", "other"];

/// The place of what an event does among [`EFFECTS`].
fn effect(event: &Recorded) -> u8 {
    match (event.op.effect(), event.block) {
        (Effect::Acquire, Block::Number(_)) => 0,
        (Effect::Release, Block::Null) => 2,
        (Effect::Release, _) => 1,
        (Effect::Acquire, _) => 3,
        (Effect::Lend, _) => 4,
        (Effect::Other, _) if event.op == Op::TOUCHED => 5,
        (Effect::Other, _) => 6,
    }
}

/// The names of all operations, each once, and the place of an operation's name among them.
fn operations() -> (Vec<ByteArray>, impl Fn(Op) -> usize) {
    let mut names: Vec<&str> = Vec::new();
    let place = |number: u8| {
        let name = Op(number).name();
        names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        })
    };
    let places: Vec<usize> = (0..=u8::MAX).map(place).collect();
    (names.into_iter().map(ByteArray::from).collect(), move |op: Op| places[usize::from(op.0)])
}

/// Which events have rows, where blocks of some sizes count: those about blocks of these sizes.
struct Sizes {
    selection: Selection,
    /// Blocks of the image that are live and count.
    live: FxHashMap<u64, ()>,
}

impl Sizes {
    fn admits(&mut self, event: &Recorded) -> bool {
        if self.selection.is_of_all_sizes() {
            return true;
        }
        let counts = self.selection.admits_size(event.size);
        match (event.op.effect(), event.block) {
            (Effect::Acquire, Block::Number(number)) => {
                if counts {
                    self.live.insert(number.0, ());
                }
                counts
            }
            (Effect::Acquire, _) | (Effect::Other, _) => counts,
            (Effect::Release, Block::Number(number)) => self.live.remove(&number.0).is_some(),
            (Effect::Lend, Block::Number(number)) => self.live.contains_key(&number.0),
            (Effect::Release | Effect::Lend, _) => true,
        }
    }
}

/// All events of what is selected.
///
/// # Errors
///
/// What `take` returns.
pub fn events(source: &mut Source, mut take: impl FnMut(Event) -> std::io::Result<()>) -> std::io::Result<()> {
    let recording = source.recording();
    let selection = source.sums.selection;
    let mut written = Ok(());
    for (index, of) in recording.images.iter().enumerate() {
        let Some(threads) = source.sums.thread_filter.of(index).cloned() else { continue };
        let mut sizes = Sizes { selection, live: FxHashMap::default() };
        // Acquisitions decide which blocks count.
        let from = if selection.is_of_all_sizes() { selection.from } else { Units::ZERO };
        // The sums have reported damage.
        let _ = recording.for_each_events_between(index, from, selection.to, |events| {
            for event in events {
                if event.time > selection.to {
                    break;
                }
                let counts = sizes.admits(event);
                if !counts || event.time < selection.from || !threads.admit(event.thread) {
                    continue;
                }
                let node = of.node(event.node);
                let stack_id = source.stacks.of_node(node);
                // A filter leaves out all other stacks.
                if stack_id.is_none() {
                    continue;
                }
                let is_acquisition = matches!(event.op.effect(), Effect::Acquire | Effect::Other);
                let row = Event {
                    image: of.about.image,
                    thread: event.thread,
                    time_ns: source.ns(event.time.0),
                    duration_ns: (!event.op.is_pooled() && !event.op.is_release_half())
                        .then(|| source.ns(event.duration.0)),
                    operation: event.op,
                    effect: effect(event),
                    is_resize: event.op.is_reallocation(),
                    block: if let Block::Number(number) = event.block { i64::try_from(number.0).ok() } else { None },
                    bytes: is_acquisition.then_some(event.size.0),
                    address: (!event.address.is_null()).then_some(event.address.0),
                    stack_id,
                };
                written = take(row);
                if written.is_err() {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        std::mem::replace(&mut written, Ok(()))?;
    }
    Ok(())
}

/// The columns of `events`.
pub fn event_columns(id: &ByteArray) -> Vec<Column<Event>> {
    let effect = "acquire, release, null (a null pointer is released), failed, lend (a pool lends to the next block), \
                  touch (pages of the program's own mappings are in use from now on) or other (mappings).";
    let (names, place) = operations();
    let resize = "Whether it is realloc or mremap. Such a call has two events: the old block is released, the new one is \
                  acquired; that of a null pointer has only the second.";
    vec![
        run_id(id),
        image(|row: &Event| row.image.into()),
        Column::id("thread", "Number of the thread in its process image.", |row: &Event| row.thread.into()).of_few(),
        Column::ns(
            "time_ns",
            "When it counts: an acquisition when the call returned, a release when it began.",
            |row: &Event| row.time_ns.into(),
        )
        .in_order(),
        Column::ns(
            "duration_ns",
            "How long the call took, with the recorder's time stamps; null: not known.",
            |row: &Event| row.duration_ns.into(),
        )
        .in_order(),
        Column::word(
            "operation",
            "The function: malloc, operator new[], free, mmap and so on.",
            names,
            move |row: &Event| place(row.operation),
        ),
        Column::word("effect", effect, EFFECTS.map(ByteArray::from).to_vec(), |row: &Event| row.effect.into()),
        Column::truth("is_resize", resize, |row: &Event| row.is_resize.into()),
        Column::id("block", "Number of the block in its process image; null: of none that is known.", |row: &Event| {
            row.block.into()
        })
        .optional()
        .in_order(),
        Column::bytes("bytes", "Bytes asked for; null: it asks for none.", |row: &Event| row.bytes.into()),
        Column::id("address", "The block's address; null where a release does not tell it.", |row: &Event| {
            row.address.into()
        })
        .optional()
        .in_order(),
        Column::id("stack_id", "The call stack in stacks.", |row: &Event| row.stack_id.into()).optional().in_order(),
    ]
}

/// A cost beside the calls themselves.
pub struct Paid {
    image: ImageNo,
    thread: Option<ThreadNo>,
    time_ns: i64,
    kind: ByteArray,
    is_inside_call: bool,
    faults: Option<u64>,
    span_ns: Option<i64>,
    bytes: Option<u64>,
    block_bytes: Option<u64>,
    stack_id: Option<u32>,
    paid_stack_id: Option<u32>,
    holder_thread: Option<ThreadNo>,
}

/// What a kind of cost is called, and what its amount is.
enum Amount {
    Faults,
    Span,
    Bytes,
}

fn kind(kind: CostKind) -> (&'static str, Amount) {
    match kind {
        CostKind::Fault => ("minor fault", Amount::Faults),
        CostKind::HugeFault => ("huge fault", Amount::Faults),
        CostKind::MajorFault => ("major fault", Amount::Faults),
        CostKind::MappedFileFault => ("file fault", Amount::Faults),
        CostKind::FileFault => ("fault of a file", Amount::Faults),
        CostKind::StackFault => ("fault of a stack", Amount::Faults),
        CostKind::RecorderFault => ("fault of the recorder", Amount::Faults),
        CostKind::GlobalFault => ("fault of a global variable", Amount::Faults),
        CostKind::LoaderFault => ("fault of the loader", Amount::Faults),
        CostKind::SharedFault => ("fault of shared memory", Amount::Faults),
        CostKind::UnownedFault => ("fault without owner", Amount::Faults),
        CostKind::Mapping | CostKind::GivenBack => ("mapping", Amount::Span),
        CostKind::GivingBack => ("charged to others", Amount::Span),
        CostKind::Waiting => ("waiting", Amount::Span),
        CostKind::Spinning => ("spinning", Amount::Span),
        CostKind::Preempted => ("preempted", Amount::Span),
        CostKind::Halted => ("halted", Amount::Span),
        CostKind::OffProcessor => ("off processor", Amount::Span),
        CostKind::Reading => ("reading", Amount::Span),
        CostKind::Grown => ("heap grown", Amount::Bytes),
        CostKind::Shrunk => ("heap shrunk", Amount::Bytes),
    }
}

/// All costs of what is selected.
///
/// # Errors
///
/// What `take` returns.
pub fn costs(source: &mut Source, mut take: impl FnMut(Paid) -> std::io::Result<()>) -> std::io::Result<()> {
    let recording = source.recording();
    let selection = source.sums.selection;
    let has_filter = source.answer.basis.view.selects();
    let mut written = Ok(());
    for (index, of) in recording.images.iter().enumerate() {
        let Some(threads) = source.sums.thread_filter.of(index).cloned() else { continue };
        // The sums have reported damage.
        let _ = recording.for_each_cost_between(index, selection.from, selection.to, |cost: &Cost| {
            let Some(cost) = selection.part_of(cost).filter(|cost| written.is_ok() && threads.admit(cost.thread))
            else {
                return;
            };
            let mut stack = |node: Option<NodeId>| node.and_then(|node| source.stacks.of_node(of.node(Some(node))));
            let stack_id = stack(cost.node);
            // A filter leaves out all other stacks, and what has no stack.
            if has_filter && stack_id.is_none() {
                return;
            }
            let paid_stack_id = if let Place::Call(node) = cost.place { stack(Some(node)) } else { None };
            let (kind, amount) = kind(cost.kind);
            let span = || i64::try_from(cost.amount).map_or(0, |_| source.ns(cost.amount));
            written = take(Paid {
                image: of.about.image,
                thread: cost.thread,
                time_ns: source.ns(cost.time.0),
                kind: kind.into(),
                is_inside_call: cost.inside.is_some(),
                faults: matches!(amount, Amount::Faults).then_some(cost.amount),
                span_ns: matches!(amount, Amount::Span).then(span),
                bytes: matches!(amount, Amount::Bytes).then_some(cost.amount),
                block_bytes: Some(cost.size.0).filter(|size| *size > 0),
                stack_id,
                paid_stack_id,
                holder_thread: cost.holder,
            });
        });
        std::mem::replace(&mut written, Ok(()))?;
    }
    Ok(())
}

/// The columns of `costs`.
pub fn cost_columns(id: &ByteArray) -> Vec<Column<Paid>> {
    let kind = "minor fault, huge fault, major fault, file fault, mapping, waiting, spinning, preempted, halted, reading, heap grown, \
                heap shrunk; charged to others is the time in a free that gave back pages of the heap, mapping of the stacks that had \
                brought them; off processor and faults of a file, a stack or the recorder, and those without owner, are charged to no stack.";
    vec![
        run_id(id),
        image(|row: &Paid| row.image.into()),
        Column::id("thread", "Number of the thread that paid, in its process image.", |row: &Paid| {
            ThreadNo::or_zero(row.thread).into()
        }),
        Column::ns("time_ns", "When it was paid; of a time, its end, or that of the selected span.", |row: &Paid| {
            row.time_ns.into()
        })
        .in_order(),
        Column::text("kind", kind, |row: &Paid| row.kind.clone().into()),
        Column::truth("is_inside_call", "Whether it is part of a call's duration.", |row: &Paid| {
            row.is_inside_call.into()
        }),
        Column::count("faults", "Page faults; one sample can stand for several.", |row: &Paid| row.faults.into()),
        Column::ns("span_ns", "Time, as it was measured.", |row: &Paid| row.span_ns.into()),
        Column::bytes("bytes", "By how much the heap grew or shrank.", |row: &Paid| row.bytes.into()),
        Column::bytes("block_bytes", "The size of the block that it is charged to.", |row: &Paid| {
            row.block_bytes.into()
        }),
        Column::id("stack_id", "The stack in stacks that it is charged to.", |row: &Paid| row.stack_id.into())
            .optional(),
        Column::id(
            "paid_stack_id",
            "The stack in stacks where it was paid; null for memory without an owner.",
            |row: &Paid| row.paid_stack_id.into(),
        )
        .optional(),
        Column::id("holder_thread", "Of waiting: the thread that was in the allocator meanwhile.", |row: &Paid| {
            row.holder_thread.into()
        })
        .optional(),
    ]
}
