//! What a reader must know to read the numbers of an answer.

use crate::{fresh_memory, without_tables};
use memtoll_analysis::balance::Balance;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::wrappers::Folded;
use memtoll_model::Recording;
use memtoll_text::format;

/// That the program's threads waited for memtoll, if they did so for long.
pub fn waited_for_memtoll(recording: &Recording) -> Option<String> {
    let waited = recording.about.clock.seconds(recording.recorder.wait_time);
    (waited > 0.01).then(|| {
        let waited = format::seconds(waited);
        format!("the program's threads were blocked for {waited} in total because memtoll could not keep up")
    })
}

/// That many page faults happened inside system calls, where an ordinary user does not see whose memory it was.
fn unseen_faults(recording: &Recording, sums: &Sums) -> Option<String> {
    /// Every program has some dozens.
    const MANY: u64 = 256;
    let kernel = &recording.end.as_ref()?.kernel;
    let faults = Balance::of_all(recording, sums).faults;
    let is_news = kernel.faults && !kernel.faults_in_system_calls && faults.unseen >= MANY;
    let share = format::percent(faults.unseen, faults.counted?);
    (is_news && faults.unseen >= faults.counted? / 10).then(|| {
        format!(
            "{share} of all page faults happened inside system calls, such as read() into fresh memory: whose memory it was \
             is shown to root, with CAP_PERFMON or where perf_event_paranoid is 1 or less; here, such blocks seem untouched"
        )
    })
}

/// How many frees are of blocks whose allocation was not recorded, by what the processes are.
fn unknown_frees(recording: &Recording, sums: &Sums) -> Vec<String> {
    let (mut forked, mut first) = (0u64, 0u64);
    for (index, image) in sums.counted() {
        let of = if recording.images[index].about.forked_from.is_some() { &mut forked } else { &mut first };
        *of = of.saturating_add(image.total.unknown_frees);
    }
    let of = |frees, whose| {
        format!("{} {whose}: they count as frees, and their blocks in no sum", format::counted(frees, "free"))
    };
    let first = (first > 0).then(|| of(first, "of blocks that their process had before memtoll recorded it"));
    let forked = (forked > 0).then(|| of(forked, "in forked processes of blocks from before the fork"));
    first.into_iter().chain(forked).collect()
}

/// What is not known because records of the kernel were lost.
fn lost_records(recording: &Recording) -> Option<String> {
    let end = recording.end.as_ref().filter(|end| end.kernel.lost_records > 0)?;
    let (kernel, usage) = (&end.kernel, end.usage.unwrap_or_default());
    let counted = usage.minor_faults.saturating_add(usage.major_faults);
    let faults = match kernel.lost_faults {
        0 => String::new(),
        lost => format!(
            " {} ({} of all) are counted, but charged to no line.",
            format::counted(lost, "page fault"),
            format::percent(lost, counted)
        ),
    };
    Some(format!(
        "memtoll lost {} of the kernel's records, because it got no processor in time.{faults} The intervals contain what may be \
         missing. To avoid it, leave memtoll a processor, run it as root or with CAP_SYS_NICE, or raise ulimit -l",
        format::count(kernel.lost_records)
    ))
}

/// Which functions' callers are shown in their place, and the option that shows them.
pub fn folded(folded: &Folded, sums: &Sums) -> String {
    format!("{}; --wrappers shows them", callers_lead(folded, sums))
}

/// Which functions' callers are shown in their place.
pub fn callers_lead(folded: &Folded, sums: &Sums) -> String {
    const SHOWN: usize = 4;
    let more = folded.functions.len().saturating_sub(SHOWN);
    let mut names = folded.functions.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 {
        names += &format!(" and {} more", format::count(more as u64));
    }
    let share = match sums.is_part() || !sums.thread_filter.are_all() {
        true => String::new(),
        false => format!(" ({} of all allocations)", format::percent(folded.allocations, sums.total.allocations())),
    };
    format!("wrappers of malloc are folded into their callers: {names}{share}")
}

/// The notes, the most important first.
pub(crate) fn notes(recording: &Recording, sums: &Sums) -> Vec<String> {
    let mut lines = of_recording(recording, |index| sums.images[index].counts);
    lines.extend(unseen_faults(recording, sums));
    lines.extend(fresh_memory::remark(recording, sums));
    lines.extend(unknown_frees(recording, sums));
    lines.extend(without_tables::note(recording, sums));
    lines
}

/// The notes about the recording, and about allocators of the images that count.
pub fn of_recording(recording: &Recording, counts: impl Fn(usize) -> bool) -> Vec<String> {
    // First: there may be a note for each of many processes.
    let waited = waited_for_memtoll(recording).map(|waited| {
        format!(
            "{waited}. Counts and sizes are exact, and the times of calls leave the waiting out, but the program took longer. \
             To avoid it, leave memtoll a processor, free more memory (an eighth of it holds events, 1 GiB at most) or give \
             the program less to do"
        )
    });
    let mut lines: Vec<String> = waited.into_iter().chain(recording.notes_in(counts).cloned()).collect();
    lines.extend(lost_records(recording));
    let late = recording.recorder.late;
    if late > 0 {
        lines.push(format!(
            "{} came so late that later ones were taken first: counted, but at a time that is a little off",
            format::counted(late, "event")
        ));
    }
    lines
}
