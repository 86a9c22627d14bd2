//! The table `timeline`: what each process did in equal intervals of time.

use super::column::Column;
use super::kinds::{Kind, Unit, Value};
use super::processes::image;
use super::runs::run_id;
use super::source::Source;
use crate::intervals::{Interval, TIMES, grid, intervals};
use memtoll_analysis::metric::Metric;
use memtoll_analysis::visible_kernel_events::Sees;
use memtoll_trace::ids::ImageNo;
use parquet::data_type::ByteArray;

/// Intervals of the selected part of the run, at most.
const INTERVALS: usize = 2048;

/// An interval of a process image.
pub struct Row {
    image: ImageNo,
    begin_ns: i64,
    length_ns: i64,
    interval: Interval,
    sees: Sees,
}

impl Row {
    /// Live bytes: null where frees are hidden.
    fn live(&self, bytes: u64) -> Value {
        self.sees.frees.then_some(bytes).into()
    }
}

/// The intervals of all process images that count.
pub fn rows<'s>(source: &'s Source) -> impl Iterator<Item = Row> + 's {
    let (recording, sums) = (source.recording(), source.sums);
    let grid = grid(recording, sums, INTERVALS);
    sums.counted().flat_map(move |(index, _)| {
        intervals(recording, sums, index, grid).into_iter().map(move |interval| Row {
            image: recording.images[index].about.image,
            begin_ns: source.ns(interval.begin),
            length_ns: source.ns(interval.end) - source.ns(interval.begin),
            interval,
            sees: source.answer.basis.tariff.sees(),
        })
    })
}

/// The columns.
pub fn columns(id: &ByteArray) -> Vec<Column<Row>> {
    let begin = "When the interval begins. Those of all processes begin at the same times.";
    let faults = "Page faults of blocks and mappings.";
    let key = |metric: Metric| metric.about().key;
    let mut columns = vec![
        run_id(id),
        image(|row: &Row| row.image.into()),
        Column::ns("begin_ns", begin, |row: &Row| row.begin_ns.into()).in_order(),
        Column::ns("length_ns", "How long it is.", |row: &Row| row.length_ns.into()),
        Column::bytes("lowest_live_bytes", "The fewest live bytes in it.", |row: &Row| row.live(row.interval.lowest)),
        Column::bytes("highest_live_bytes", "The most live bytes in it.", |row: &Row| row.live(row.interval.highest)),
        Column::bytes("live_bytes", "Live bytes at its end.", |row: &Row| row.live(row.interval.live)),
        Column::count(key(Metric::Allocations), "Blocks that the process got, by reallocation or not.", |row: &Row| {
            row.interval.allocations.into()
        }),
        Column::bytes(key(Metric::Bytes), "Bytes of these.", |row: &Row| row.interval.bytes.into()),
        Column::count(key(Metric::Faults), faults, |row: &Row| row.sees.faults.then_some(row.interval.faults).into()),
    ];
    for (time, metric) in TIMES.into_iter().enumerate() {
        let about = metric.about();
        let value = move |row: &Row| metric.is_known(row.sees).then_some(row.interval.ns[time]).into();
        columns.push(Column::new(Kind::Integer, about.key, Unit::Nanoseconds, about.help, value).optional());
    }
    columns
}
