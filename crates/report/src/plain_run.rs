//! What the program takes without the recorder, beside what it takes with it.

use crate::section::title;
use memtoll_analysis::calibration::{CONFIDENCE, Figure, Runs, Spread, plain, recorded};
use memtoll_model::Recording;
use memtoll_text::Quantity;
use memtoll_text::format;
use memtoll_text::format::Unit;
use memtoll_text::table::Table;
use memtoll_trace::meta::Calibration;

/// A value as people read it.
fn show(figure: Figure, value: f64) -> String {
    figure.unit().show(value)
}

/// `263 ± 4 ms`.
fn with_error(figure: Figure, spread: Option<&Spread>) -> String {
    let Some(spread) = spread else { return String::new() };
    if figure.unit() == Unit::Time && spread.margin().is_some() {
        return spread.estimate().time_with_error();
    }
    let mean = show(figure, spread.mean);
    match spread.margin() {
        Some(margin) if margin > 0.0 => format!("{mean} ± {}", show(figure, margin)),
        _ => mean,
    }
}

/// How many times as much, where that is certain to be something else than as much.
fn ratio(plain: Option<&Spread>, recorded: Option<&Spread>) -> String {
    let (Some(plain), Some(recorded)) = (plain, recorded) else { return String::new() };
    let apart = |low: &Spread, high: &Spread| low.high.zip(high.low).is_some_and(|(high, low)| high < low);
    match plain.mean > 0.0 && (apart(plain, recorded) || apart(recorded, plain)) {
        true => format!("{:.2} times", recorded.mean / plain.mean),
        false => String::new(),
    }
}

/// The section of the summary; empty where the recording has no plain runs.
pub fn section(recording: &Recording, width: Option<usize>) -> String {
    let Some(calibration) = &recording.calibration else { return String::new() };
    let (plain, recorded) = (plain(calibration), recorded(calibration));
    let whole = plain.of(Figure::Processor).map_or(0.0, |spread| spread.mean);
    let mut table = Table::new(&["without the recorder", "share", "with it", "", ""]);
    for figure in Figure::ALL {
        let (without, with) = (plain.of(figure), recorded.of(figure));
        if without.is_none() && with.is_none() {
            continue;
        }
        let share = match (figure, &without) {
            (Figure::Part(_), Some(part)) => format::percent(part.mean as u64, whole as u64),
            _ => String::new(),
        };
        table.add([
            with_error(figure, without.as_ref()),
            share.trim().to_owned(),
            with_error(figure, with.as_ref()),
            ratio(without.as_ref(), with.as_ref()),
            figure.title().to_owned(),
        ]);
    }
    let remarks = remarks(calibration, &plain, &recorded);
    let remarks: String = remarks.iter().map(|line| format::wrapped("  ", line, width)).collect();
    title("The program without the recorder") + &table.render(width) + &remarks
}

fn remarks(calibration: &Calibration, plain: &Runs, recorded: &Runs) -> Vec<String> {
    let mut lines = vec![format!(
        "Means of {} runs without the recorder and {} with it, in random order; ± is the interval at {:.0} %. Shares are from \
         {} more runs that the kernel sampled.",
        plain.number(),
        recorded.number(),
        CONFIDENCE * 100.0,
        calibration.sampled.len()
    )];
    if let Some(why) = &calibration.refused {
        lines.push(format!("Where the time went is not known: {why}."));
    } else if !calibration.sees_kernel {
        lines.push(
            "The kernel does not show where threads are inside it, so page faults and mappings are not told apart: run as \
             root, or where perf_event_paranoid is 1 or less."
                .to_owned(),
        );
    }
    lines
}

/// That waiting is another thing without the recorder, and what is known of it.
pub(crate) fn of_waiting(recording: &Recording) -> String {
    let switches = recording.calibration.as_ref().and_then(|calibration| {
        let [without, with] = [plain(calibration), recorded(calibration)].map(|runs| runs.of(Figure::Voluntary));
        Some((without?, with?))
    });
    match switches {
        None => "as recorded: the recorder spaces calls out, which changes which threads collide".to_owned(),
        Some((without, with)) => format!(
            "as recorded: threads waited {} times then, and {} times without the recorder",
            show(Figure::Voluntary, with.mean),
            show(Figure::Voluntary, without.mean)
        ),
    }
}

/// What plain runs would improve; nothing where there were some, or where there are no times.
pub(crate) fn hint(recording: &Recording) -> Option<String> {
    let is_useful = recording.calibration.is_none() && recording.end.as_ref().is_some_and(|end| end.kernel.faults);
    is_useful.then(|| {
        "these times are from one recorded run; record --calibrate runs the program without the recorder, too, and gives its \
         own CPU time and memory"
            .to_owned()
    })
}
