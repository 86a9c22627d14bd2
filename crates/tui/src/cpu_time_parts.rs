//! Where the program's CPU time went: parts that add up to all of it.

use crate::colors::Kind;
use memtoll_analysis::balance::Balance;
use memtoll_analysis::estimate::Estimate;

/// A part of the CPU time, ns.
pub struct Part {
    /// What it is.
    pub kind: Kind,
    pub name: &'static str,
    /// How much.
    pub time: Estimate,
}

/// All parts, with what is left, if the CPU time is known.
pub fn parts(balance: &Balance) -> Vec<Part> {
    let charged = &balance.charged;
    let zeroing = match charged.faults.value {
        faults if faults > 0.0 => charged.zeroing.value / faults,
        _ => 0.0,
    };
    let part = |kind, name, time| Part { kind, name, time };
    let mut parts = vec![
        part(Kind::Faults, "faults, not zeroing", charged.faults.scaled(1.0 - zeroing)),
        part(Kind::Zeroing, "zeroing", charged.zeroing),
        part(Kind::Mapping, "mapping", charged.mapping),
        part(Kind::Allocator, "allocator", charged.allocator),
        part(Kind::OtherFaults, "other faults", balance.other_faults),
    ];
    // Of a part of the run, the recorder's share is not known.
    let rest = match balance.rest() {
        Some(rest) => Some(("program", rest)),
        None => balance
            .processor
            .filter(|processor| *processor > 0.0)
            .map(|processor| ("program and recorder", Estimate::exact(processor).minus(balance.explained()))),
    };
    parts.extend(rest.map(|(name, time)| part(Kind::Program, name, time)));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_analysis::costs::CostEstimates;

    #[test]
    fn parts_are_the_whole_together() {
        let balance = Balance {
            processor: Some(100.0),
            charged: CostEstimates {
                allocator: Estimate::exact(7.0),
                faults: Estimate::exact(20.0),
                zeroing: Estimate::exact(5.0),
                mapping: Estimate::exact(3.0),
                ..CostEstimates::default()
            },
            other_faults: Estimate::exact(5.0),
            recorder: Some(Estimate::exact(10.0)),
            ..Balance::default()
        };
        let all = parts(&balance);
        assert_eq!(all.iter().map(|part| part.time.value).sum::<f64>(), 90.0, "without the recorder");
        assert_eq!(all[1].time.value, 5.0);
        let part = parts(&Balance { recorder: None, ..balance });
        assert_eq!(part.iter().map(|part| part.time.value).sum::<f64>(), 100.0);
    }
}
