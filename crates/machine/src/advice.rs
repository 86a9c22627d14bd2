//! What follows from the figures, in words. Each rule looks at ways that were measured, and is silent where one of them
//! is missing.

use crate::report::{Costs, Falls, Report, WayCosts};
use memtoll_text::format::{Unit, times};

/// Statements about `report`, the most useful first.
pub(crate) fn advice(report: &Report) -> Vec<String> {
    let figures = Figures { report };
    let rules: [fn(&Figures) -> Option<String>; 10] =
        [used_again, dontneed, must_fall, huge_pages, populate, shared_memory, malloc, cold, threads, noise];
    rules.iter().filter_map(|rule| rule(&figures)).collect()
}

struct Figures<'a> {
    report: &'a Report,
}

impl Figures<'_> {
    fn way(&self, id: &str) -> Option<&WayCosts> {
        self.report.ways.iter().find(|way| way.id == id)
    }

    /// What the second use of the whole memory costs above the touch, nanoseconds a MiB.
    fn whole(&self, id: &str) -> Option<f64> {
        Some(whole(self.way(id)?))
    }

    /// The same where the first byte of each 64 KiB is touched.
    fn sparse(&self, id: &str) -> Option<f64> {
        Some(sparse(self.way(id)?))
    }
}

fn whole(way: &WayCosts) -> f64 {
    way.one_thread.whole.again.above_touch_ns_per_mib.max(0.0)
}

fn sparse(way: &WayCosts) -> f64 {
    way.one_thread.sparse.again.above_touch_ns_per_mib.max(0.0)
}

fn a_mib(ns: f64) -> String {
    format!("{} a MiB", Unit::Time.show(ns))
}

fn used_again(figures: &Figures) -> Option<String> {
    let mmap = figures.way("mmap")?;
    let page = Unit::Time.show(mmap.one_thread.whole.again.above_touch_ns_per_page);
    let mut text = format!(
        "Memory that is used again soon: keep it. munmap and mmap cost {} each time it is used ({page} a page); keeping \
         it costs nothing.",
        a_mib(whole(mmap))
    );
    if let Some(free) = figures.whole("free") {
        let less = times(whole(mmap), free).filter(|_| free < whole(mmap));
        text += &match less {
            Some(less) => format!(
                " MADV_FREE costs {}, {less} less, and lets the kernel have it when memory runs short.",
                a_mib(free)
            ),
            None => format!(" MADV_FREE is no cheaper here ({}).", a_mib(free)),
        };
    }
    Some(text)
}

fn dontneed(figures: &Figures) -> Option<String> {
    let (dontneed, mmap) = (figures.whole("dontneed")?, figures.whole("mmap")?);
    Some(match times(dontneed, mmap) {
        None => "MADV_DONTNEED costs as much as munmap and mmap here: every page faults again.".to_owned(),
        Some(ratio) => {
            format!(
                "MADV_DONTNEED costs {ratio} what munmap and mmap cost here ({}, {}).",
                a_mib(dontneed),
                a_mib(mmap)
            )
        }
    })
}

fn must_fall(figures: &Figures) -> Option<String> {
    // With malloc it is the C library that decides.
    let ways = || {
        let falls = |way: &&WayCosts| way.resident_set_falls == Falls::Yes && !way.id.starts_with("malloc");
        figures.report.ways.iter().filter(falls)
    };
    let full = ways().min_by(|a, b| whole(a).total_cmp(&whole(b)))?;
    let part = ways().min_by(|a, b| sparse(a).total_cmp(&sparse(b)))?;
    let first =
        format!("When the resident set must fall at once, \"{}\" is cheapest ({})", full.name, a_mib(whole(full)));
    Some(if full.id == part.id {
        format!("{first}.")
    } else {
        format!(
            "{first} for memory that is filled, and \"{}\" for memory of which little is touched ({} for a byte of each \
             64 KiB).",
            part.name,
            a_mib(sparse(part))
        )
    })
}

fn huge_pages(figures: &Figures) -> Option<String> {
    let mmap = figures.whole("mmap")?;
    let huge = figures.way("huge")?;
    if huge.huge_share < 0.5 {
        return Some(format!(
            "MADV_HUGEPAGE got huge pages for {:.0} % of the memory only: the kernel had no more to spare.",
            huge.huge_share * 100.0
        ));
    }
    let less = times(mmap, whole(huge)).filter(|_| whole(huge) < mmap)?;
    let mut text = format!(
        "Huge pages make large memory that is filled {less} cheaper ({} instead of {}).",
        a_mib(whole(huge)),
        a_mib(mmap)
    );
    let plain = figures.sparse("mmap")?;
    if let Some(more) = times(sparse(huge), plain).filter(|_| sparse(huge) > plain) {
        text += &format!(" Where little of it is touched they cost {more} as much, and all of it is resident.");
    }
    let first = huge.one_thread.whole.first.above_touch_ns_per_mib;
    if first > 2.0 * whole(huge) {
        text += &format!(" The first time they cost {}: the kernel had to make room for them.", a_mib(first));
    }
    Some(text)
}

fn populate(figures: &Figures) -> Option<String> {
    let ways = [("madvise-populate", "MADV_POPULATE_WRITE"), ("mmap-populate", "MAP_POPULATE")];
    let (id, name) = ways.into_iter().find(|(id, _)| figures.way(id).is_some())?;
    let (populated, faulted) = (figures.whole(id)?, figures.whole("mmap")?);
    let saved = (1.0 - populated / faulted) * 100.0;
    if saved < 10.0 {
        return Some(format!("{name} saves nothing worth mentioning here."));
    }
    let sparse = times(figures.sparse(id)?, figures.sparse("mmap")?).unwrap_or_else(|| "once".to_owned());
    Some(format!(
        "{name} saves {saved:.0} % where every page is going to be touched; where little is touched it costs {sparse} as \
         much."
    ))
}

fn shared_memory(figures: &Figures) -> Option<String> {
    let (fresh, kept, mmap) = (figures.whole("memfd")?, figures.whole("memfd-unmap")?, figures.whole("mmap")?);
    let ratio = |value: f64| times(value, mmap).map_or("as much as".to_owned(), |ratio| ratio + " what");
    Some(format!(
        "Shared memory (memfd) that is new each time costs {} private memory costs ({}); a file that is kept and only \
         mapped again costs {}.",
        ratio(fresh),
        a_mib(fresh),
        a_mib(kept)
    ))
}

fn malloc(figures: &Figures) -> Option<String> {
    let (trimmed, kept) = (figures.whole("malloc-small")?, figures.whole("malloc-untrimmed")?);
    if kept > 0.9 * trimmed {
        return None;
    }
    let cost = match times(trimmed, kept) {
        Some(less) if kept > 0.0 => format!("cost {}, {less} less", a_mib(kept)),
        _ => "cost nothing".to_owned(),
    };
    Some(format!(
        "malloc gives the heap's free end back, and large blocks at every free: {} when it is used again. Never trimmed, \
         the same blocks {cost} (mallopt: M_TRIM_THRESHOLD and M_MMAP_THRESHOLD).",
        a_mib(trimmed)
    ))
}

fn cold(figures: &Figures) -> Option<String> {
    let cold = figures.way("cold").filter(|way| way.resident_set_falls == Falls::No)?;
    Some(format!(
        "MADV_COLD leaves the memory resident and costs {}: a hint for when memory runs short, no way to give it back.",
        a_mib(whole(cold))
    ))
}

/// CPU time of several threads, compared with that of one, for ways that cost something.
fn in_threads(way: &WayCosts) -> Option<f64> {
    let cost = |costs: &Costs| costs.whole.again.above_touch_ns;
    let alone = cost(&way.one_thread);
    let matters = alone > 0.05 * way.one_thread.whole.again.cpu_ns.median;
    Some(cost(way.several_threads.as_ref()?) / alone).filter(|_| matters)
}

fn threads(figures: &Figures) -> Option<String> {
    let count = figures.report.threads;
    let ratio = in_threads(figures.way("mmap")?)?;
    if ratio >= 1.1 {
        return Some(format!(
            "In {count} threads at once, munmap and mmap cost {ratio:.1} times the CPU time: threads share one address \
             space, its lock and its page tables. Keep memory per thread."
        ));
    }
    let mut text = format!("{count} threads that map and unmap at once do not make each other dearer here.");
    let ways = figures.report.ways.iter().filter_map(|way| Some((way, in_threads(way)?)));
    if let Some((way, ratio)) = ways.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, ratio)| *ratio >= 1.25) {
        text += &format!(" Dearest together: \"{}\", {ratio:.1} times.", way.name);
    }
    Some(text)
}

fn noise(figures: &Figures) -> Option<String> {
    if figures.report.rounds == 1 {
        return Some(
            "Only one round fitted into the time, so there are no medians: measure again when the machine is quiet, or \
             less memory (--size)."
                .to_owned(),
        );
    }
    let spread = |way: &WayCosts| way.one_thread.whole.again.cpu_ns.relative();
    let mut spreads: Vec<f64> = figures.report.ways.iter().map(spread).collect();
    spreads.sort_by(f64::total_cmp);
    let median = *spreads.get(spreads.len() / 2)?;
    (median > 0.15).then(|| {
        format!(
            "The machine was busy or unsteady: half of the figures spread by more than ±{:.0} %. Measure again when it \
             is quiet.",
            median * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::tests::{find, report};

    fn only(rule: fn(&Figures) -> Option<String>, report: &Report) -> String {
        rule(&Figures { report }).unwrap_or_default()
    }

    fn change(report: &mut Report, id: &str, whole_ns_per_mib: f64) {
        let way = report.ways.iter_mut().find(|way| way.id == id).unwrap();
        way.one_thread.whole.again.above_touch_ns_per_mib = whole_ns_per_mib;
    }

    #[test]
    fn fixed_figures_give_fixed_advice() {
        let expected = [
            "Memory that is used again soon: keep it. munmap and mmap cost 625 µs a MiB each time it is used (2.4 µs a \
             page); keeping it costs nothing. MADV_FREE costs 78.1 µs a MiB, 8.0 times less, and lets the kernel have it \
             when memory runs short.",
            "MADV_DONTNEED costs as much as munmap and mmap here: every page faults again.",
            "When the resident set must fall at once, \"MADV_HUGEPAGE, munmap\" is cheapest (89.8 µs a MiB) for memory \
             that is filled, and \"MADV_POPULATE_WRITE, munmap\" for memory of which little is touched (23.0 µs a MiB \
             for a byte of each 64 KiB).",
            "Huge pages make large memory that is filled 7.0 times cheaper (89.8 µs a MiB instead of 625 µs a MiB). \
             Where little of it is touched they cost 4.9 times as much, and all of it is resident.",
            "MADV_POPULATE_WRITE saves 26 % where every page is going to be touched; where little is touched it costs \
             0.7 times as much.",
            "Shared memory (memfd) that is new each time costs 1.5 times what private memory costs (938 µs a MiB); a \
             file that is kept and only mapped again costs 430 µs a MiB.",
            "malloc gives the heap's free end back, and large blocks at every free: 582 µs a MiB when it is used again. \
             Never trimmed, the same blocks cost 7.8 µs a MiB, 74 times less (mallopt: M_TRIM_THRESHOLD and \
             M_MMAP_THRESHOLD).",
            "MADV_COLD leaves the memory resident and costs 97.7 µs a MiB: a hint for when memory runs short, no way to \
             give it back.",
            "In 2 threads at once, munmap and mmap cost 1.2 times the CPU time: threads share one address space, its \
             lock and its page tables. Keep memory per thread.",
        ];
        assert_eq!(advice(&report()), expected);
    }

    #[test]
    fn other_figures_give_other_advice() {
        let mut other = report();
        change(&mut other, "free", 630e3);
        change(&mut other, "dontneed", 300e3);
        change(&mut other, "madvise-populate", 600e3);
        assert!(only(used_again, &other).ends_with("MADV_FREE is no cheaper here (630 µs a MiB)."));
        assert!(only(dontneed, &other).contains("0.5 times what munmap"));
        assert!(only(populate, &other).contains("saves nothing"));
        change(&mut other, "malloc-untrimmed", -3.0);
        assert!(only(malloc, &other).contains("the same blocks cost nothing (mallopt"));
        change(&mut other, "malloc-untrimmed", 600e3);
        assert_eq!(only(malloc, &other), "");
        let huge = other.ways.iter_mut().find(|way| way.id == "huge").unwrap();
        huge.one_thread.whole.first.above_touch_ns_per_mib = 500e3;
        assert!(
            only(huge_pages, &other)
                .ends_with("The first time they cost 500 µs a MiB: the kernel had to make room for them.")
        );
        change(&mut other, "huge", 700e3);
        assert_eq!(only(huge_pages, &other), "");
        assert!(only(must_fall, &other).contains("\"MADV_DONTNEED\" is cheapest (300 µs a MiB)"));

        let same = find(&other, "mmap").one_thread.clone();
        other.ways.iter_mut().find(|way| way.id == "mmap").unwrap().several_threads = Some(same);
        assert!(only(threads, &other).contains("do not make each other dearer"));
        let memfd = other.ways.iter_mut().find(|way| way.id == "memfd").unwrap();
        memfd.several_threads.as_mut().unwrap().whole.again.above_touch_ns *= 2.0;
        assert!(only(threads, &other).ends_with("Dearest together: \"new memfd, closed\", 2.5 times."));
    }

    #[test]
    fn missing_ways_have_no_advice() {
        let mut poor = report();
        poor.ways.retain(|way| way.id == "keep" || way.id == "mmap");
        poor.ways.iter_mut().for_each(|way| way.several_threads = None);
        let said = advice(&poor);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].ends_with("keeping it costs nothing."));
        poor.ways.clear();
        assert_eq!(advice(&poor), [""; 0]);
    }

    #[test]
    fn huge_pages_that_were_not_to_be_had() {
        let mut fragmented = report();
        fragmented.ways.iter_mut().find(|way| way.id == "huge").unwrap().huge_share = 0.25;
        assert!(only(huge_pages, &fragmented).contains("for 25 % of the memory only"));
    }

    #[test]
    fn unsteady_figures_are_called_so() {
        let mut busy = report();
        assert_eq!(only(noise, &busy), "");
        for way in &mut busy.ways {
            let cpu = &mut way.one_thread.whole.again.cpu_ns;
            (cpu.p10, cpu.p90) = (0.5 * cpu.median, 1.5 * cpu.median);
        }
        assert!(only(noise, &busy).contains("±50 %"));
        busy.rounds = 1;
        assert!(only(noise, &busy).starts_with("Only one round"));
    }
}
