//! What is known of a metric, and where it is shown.

use crate::estimate::Estimate;
use crate::list::priced::Priced;
use crate::list::{Metric, TABLE};
use memtoll_text::format::Unit;
use serde::{Deserialize, Serialize};

/// Who saw what a metric counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// The recorder: each call of an allocation function, or of mmap and the like. Exact.
    Calls,
    /// The recorder, where it sees each free: what an allocator inside the program frees, it does not see. Exact.
    Frees,
    /// The supervisor, where it searched the memory of the program at its end. Conservative: any word may be a pointer.
    Search,
    /// The recorder's time stamps around each call, and the kernel's samples of where threads are.
    Stamps,
    /// The kernel, where it shows page faults.
    Faults,
    /// The kernel, where it shows when threads lose the CPU.
    Switches,
    /// memtoll's look at the pages of a process.
    Pages,
    /// The same, where memtoll knows in which units the allocator gives memory back.
    Units,
}

impl Seen {
    /// Whether it may be known of some blocks and not of others.
    pub const fn is_of_blocks(self) -> bool {
        matches!(self, Seen::Frees | Seen::Search | Seen::Pages | Seen::Units)
    }

    /// Why it was not seen, where it was not: a part of a sentence.
    pub const fn why_not(self) -> &'static str {
        match self {
            Seen::Frees => "an allocator inside the program hides frees",
            Seen::Pages => "memtoll did not see the pages of the process when it ended",
            Seen::Units => {
                "memtoll did not see the pages of the process when it ended, or does not know in which units its allocator gives memory back"
            }
            Seen::Search => {
                "the program's memory was not searched at its end, or the selection leaves out times, threads or sizes"
            }
            Seen::Calls | Seen::Stamps | Seen::Faults | Seen::Switches => "the kernel did not show it",
        }
    }
}

/// How a metric comes from what is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Price {
    /// It is the count itself.
    None,
    /// It is a time that was measured.
    Measured,
    /// A count times what one takes in this recording.
    Each,
    /// The sum of what is priced.
    Sum,
}

/// How the values of several rows make one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Together {
    /// They add up: those of all rows to the total.
    Sum,
    /// They add up; over time, that of the last instant counts.
    Level,
    /// They add up within a process; those of several processes are of different instants.
    Peak,
    /// The largest one counts.
    Largest,
    /// They have a mean: what adds up, over the value of this metric.
    Mean(Metric),
}

/// What is known of a metric.
#[derive(Debug)]
pub struct About {
    /// Which one.
    pub metric: Metric,
    /// What options and budgets call it.
    pub name: &'static str,
    /// What JSON, CSV, Parquet and a store call it: its name with its unit (see [`Unit::in_keys`]).
    pub key: &'static str,
    /// What the column of a table is called.
    pub title: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Who saw it.
    pub seen: Seen,
    /// How it is priced.
    pub price: Price,
    /// How values of several rows make one.
    pub together: Together,
    /// A sentence for a reader who is new to it.
    pub help: &'static str,
    /// Where it is shown, as bits of [`Place`].
    pub(crate) places: u16,
    /// Its value; of a mean, what adds up.
    pub(crate) value: fn(&Priced) -> u64,
}

impl About {
    /// Whether it is shown there.
    pub const fn is_in(&self, place: Place) -> bool {
        self.places & place.bit() != 0
    }

    /// Where its numbers come from, and how those of several rows make one: sentences.
    pub fn origin(&self) -> String {
        let seen = match self.seen {
            Seen::Calls if matches!(self.price, Price::None) => "The recorder sees each call, so it is exact.",
            Seen::Calls => "The recorder sees each call.",
            Seen::Frees if matches!(self.price, Price::None) => {
                "The recorder sees each allocation and free, so it is exact; where an allocator inside the program hides \
                 frees, it is not known."
            }
            Seen::Frees => {
                "The recorder sees each allocation and free; where an allocator inside the program hides frees, it is not known."
            }
            Seen::Search => {
                "memtoll searches the program's memory at its end; where it could not, or where the selection leaves out times, \
                 threads or sizes, it is not known."
            }
            Seen::Stamps => {
                "It comes from time stamps around each call and from the kernel's samples of where threads are."
            }
            Seen::Faults => "It needs a kernel that shows page faults.",
            Seen::Switches => "It needs a kernel that shows when threads lose the CPU.",
            Seen::Pages => {
                "It comes from memtoll's look at the pages of a process when it ends, or from the look that `--at` chooses, where there is one \
                 (see resident.md). Finding it reads all events, so it is not known unless an option asks for it: `--metric`, a limit of a budget, `--resident` of `memtoll diff`."
            }
            Seen::Units => {
                "It comes from memtoll's look at the pages of a process, as `resident` does, and needs an allocator \
                 of which memtoll knows in which units it gives memory back: glibc or jemalloc."
            }
        };
        let price = match self.price {
            Price::None => "",
            Price::Measured => " The time is measured.",
            Price::Each => " Faults are counted, and each one costs what a fault takes on average in this recording.",
            Price::Sum => " It is the sum of what is known.",
        };
        let together = match self.together {
            Together::Sum | Together::Level => "Rows add up to the total.",
            Together::Peak => {
                "Rows add up to the peak of their process; several processes reach theirs at different times."
            }
            Together::Largest => "The total is the largest row's.",
            Together::Mean(_) => "The total is the mean over all blocks.",
        };
        format!("{seen}{price} {together}")
    }
}

/// What a key ends with beyond its name: nothing if the name is the unit itself, as `bytes` is.
pub(crate) const fn ending(name: &str, unit: Unit) -> &'static [u8] {
    let ending = unit.in_keys().as_bytes();
    let name = name.as_bytes();
    if ending.is_empty() || name.len() + 1 != ending.len() {
        return ending;
    }
    let mut at = 0;
    while at < name.len() {
        if name[at] != ending[at + 1] {
            return ending;
        }
        at += 1;
    }
    &[]
}

/// The one rule for names: a key is the name with `_` for `-`, and with its unit.
pub(crate) const fn key<const LENGTH: usize>(name: &str, unit: Unit) -> [u8; LENGTH] {
    let (name, ending) = (name.as_bytes(), ending(name, unit));
    let mut key = [0; LENGTH];
    let mut at = 0;
    while at < LENGTH {
        key[at] = match at < name.len() {
            true if name[at] == b'-' => b'_',
            true => name[at],
            false => ending[at - name.len()],
        };
        at += 1;
    }
    key
}

/// Where a metric is shown. Reports, JSON, CSV, Parquet and `docs/metrics.md` have all; a budget can limit all that add up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// What viewers let choose from, in browsers and terminals.
    Viewer,
    /// Columns of the viewer's lines.
    Lines,
    /// Columns beside the viewer's call tree.
    Tree,
    /// Columns of the terminal's lines, as far as there is room.
    Terminal,
    /// Facts on the viewer's first page.
    Overview,
    /// Formats of other programs, if they have several metrics.
    Export,
    /// Columns of a fleet's store.
    Fleet,
    /// What differences of call sites are about.
    Compared,
    /// The totals of `memtoll diff`.
    Total,
    /// The same, where a recording has some of it.
    TotalIfAny,
    /// What the runs of regions know of themselves.
    Regions,
    /// What `memtoll budget` limits.
    Budget,
}

impl Place {
    /// All of them.
    pub const ALL: [Place; 12] = [
        Place::Viewer,
        Place::Lines,
        Place::Tree,
        Place::Terminal,
        Place::Overview,
        Place::Export,
        Place::Fleet,
        Place::Compared,
        Place::Total,
        Place::TotalIfAny,
        Place::Regions,
        Place::Budget,
    ];

    pub(crate) const fn bit(self) -> u16 {
        1 << self as u16
    }

    /// Whether what lies in memory at the end is known there, if it is asked for.
    const fn asks_for_pages(self) -> bool {
        matches!(self, Place::Viewer | Place::Compared | Place::TotalIfAny)
    }

    /// Whether values there are added up.
    const fn needs_sums(self) -> bool {
        matches!(self, Place::Export | Place::Fleet | Place::Compared)
    }
}

/// How many metrics are shown there.
pub const fn number_in(place: Place) -> usize {
    let (mut number, mut index) = (0, 0);
    while index < TABLE.len() {
        number += TABLE[index].is_in(place) as usize;
        index += 1;
    }
    number
}

/// Those, in the order of the table.
pub const fn all_in<const N: usize>(place: Place) -> [Metric; N] {
    let (mut all, mut number, mut index) = ([TABLE[0].metric; N], 0, 0);
    while index < TABLE.len() {
        if TABLE[index].is_in(place) {
            all[number] = TABLE[index].metric;
            number += 1;
        }
        index += 1;
    }
    all
}

/// A metric that does not add up is not shown where values are added.
const _: () = {
    let mut index = 0;
    while index < TABLE.len() {
        let about = &TABLE[index];
        let mut place = 0;
        while place < Place::ALL.len() {
            let adds = Place::ALL[place].needs_sums() && about.is_in(Place::ALL[place]);
            assert!(!adds || about.metric.adds_up(), "values are added there");
            let asks = Place::ALL[place].asks_for_pages() || !about.is_in(Place::ALL[place]);
            assert!(!about.metric.is_of_pages() || asks, "no query for this place asks for pages");
            place += 1;
        }
        let is_mean = matches!(about.together, Together::Mean(over) if over.about().is_in(Place::Viewer));
        assert!(!about.is_in(Place::Viewer) || about.metric.adds_up() || is_mean, "viewers add values up");
        index += 1;
    }
};

/// What could be seen. Where it is false, a count of 0 means that nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sees {
    /// Page faults.
    pub faults: bool,
    /// When threads lost the processor.
    pub switches: bool,
    /// Each free of a block whose allocation was recorded, in one process at least; see [`Metric::is_known_of`].
    pub frees: bool,
    /// What a page fault takes. A recording that was cut off has no prices.
    pub fault_prices: bool,
    /// The pages of one process at least when it ended, in sums that were asked for what lies there.
    pub pages: bool,
    /// The units of the allocator of one of these processes.
    pub units: bool,
}

/// How a value differs from one run of a program to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Steadiness {
    /// Not at all, where the program does the same: the recorder counts every call, and each page of a look.
    Counted,
    /// A little: pages come and go with what else the machine does.
    Faults,
    /// A lot.
    Timed,
}

macro_rules! metrics {
    ($($(#[doc = $help:literal])* $name:ident $option:literal, $title:literal: $unit:ident, $seen:ident, $price:ident,
       $together:ident $(over $over:ident)? { $($place:ident)* } = $value:expr;)*) => {
        /// Something that is counted or priced.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Metric {
            $($(#[doc = $help])* $name,)*
        }

        /// All metrics, in the order in which JSON, columns and lists have them.
        pub const TABLE: &[About] = &[$(About {
            metric: Metric::$name,
            name: $option,
            key: {
                const KEY: [u8; $option.len() + ending($option, Unit::$unit).len()] = key($option, Unit::$unit);
                match std::str::from_utf8(&KEY) {
                    Ok(key) => key,
                    Err(_) => panic!("a name is in ASCII"),
                }
            },
            title: $title,
            unit: Unit::$unit,
            seen: Seen::$seen,
            price: Price::$price,
            together: Together::$together $((Metric::$over))?,
            help: concat!($($help),*).trim_ascii_start(),
            places: 0 $(| Place::$place.bit())*,
            value: $value,
        },)*];
    };
}

impl Metric {
    /// What is known of it.
    pub const fn about(self) -> &'static About {
        &TABLE[self as usize]
    }

    /// The one that an option calls so.
    pub fn named(name: &str) -> Option<Metric> {
        TABLE.iter().find(|about| about.name == name).map(|about| about.metric)
    }

    /// Its value, in its unit. What the kernel did not show is 0; see [`Metric::is_known`].
    pub fn value(self, of: &Priced) -> u64 {
        match self.over() {
            Some(over) => self.sum(of).checked_div(over.value(of)).unwrap_or(0),
            None => self.sum(of),
        }
    }

    /// What adds up of it: of a mean, what is divided by the value of [`Metric::over`].
    pub fn sum(self, of: &Priced) -> u64 {
        (self.about().value)(of)
    }

    /// A row's value as text, in its unit: no more digits than are known, of what is exact all.
    pub fn show(self, value: Estimate) -> String {
        value.known(self.about().unit)
    }

    /// Whether it is a price times a count or a measured time that is divided among call sites: never exact.
    pub const fn is_estimated(self) -> bool {
        !matches!(self.about().price, Price::None) && self.over().is_none()
    }

    /// The kind of cost whose color shows it in charts and bars; nothing: it has none.
    pub const fn color(self) -> Option<&'static str> {
        match self {
            Metric::Cost => Some("cost"),
            Metric::Allocator => Some("allocator"),
            Metric::FaultTime => Some("faults"),
            Metric::Zeroing => Some("zeroing"),
            Metric::Mapping => Some("mapping"),
            Metric::Waiting | Metric::Reading => Some("waiting"),
            _ => None,
        }
    }

    /// What a mean is over.
    pub const fn over(self) -> Option<Metric> {
        match self.about().together {
            Together::Mean(over) => Some(over),
            _ => None,
        }
    }

    /// The metrics that are shown there, in the order of the table.
    pub fn shown_in(place: Place) -> impl Iterator<Item = Metric> + Clone {
        TABLE.iter().filter(move |about| about.is_in(place)).map(|about| about.metric)
    }

    /// How steady it is.
    pub fn steadiness(self) -> Steadiness {
        match (self.about().unit, self.about().seen) {
            (Unit::Time, _) => Steadiness::Timed,
            (_, Seen::Faults) => Steadiness::Faults,
            _ => Steadiness::Counted,
        }
    }

    /// Whether what was seen tells it. The cost is then the sum of what is known.
    pub fn is_known(self, sees: Sees) -> bool {
        let of_faults = sees.faults && (self.about().price != Price::Each || sees.fault_prices);
        match self.about().seen {
            Seen::Calls | Seen::Stamps => true,
            Seen::Frees | Seen::Search => sees.frees,
            Seen::Faults => of_faults,
            Seen::Switches => sees.switches,
            Seen::Pages => sees.pages,
            Seen::Units => sees.pages && sees.units,
        }
    }

    /// Whether it comes from a look at pages.
    pub const fn is_of_pages(self) -> bool {
        matches!(self.about().seen, Seen::Pages | Seen::Units)
    }

    /// Its value; nothing if it was not observed.
    pub fn known(self, of: &Priced, sees: Sees) -> Option<u64> {
        self.is_known_of(of, sees).then(|| self.value(of))
    }

    /// Whether it was observed of these.
    pub fn is_known_of(self, of: &Priced, sees: Sees) -> bool {
        let is_hidden = match self.about().seen {
            Seen::Frees => of.hides_frees(),
            Seen::Pages => of.lacks_pages(),
            Seen::Units => of.lacks_units(),
            Seen::Search => of.hides_frees() || of.is_unsearched(),
            Seen::Calls | Seen::Stamps | Seen::Faults | Seen::Switches => false,
        };
        self.is_known(sees) && !is_hidden
    }

    /// Whether it says what things cost, and not how many or how large they are.
    pub fn is_cost(self) -> bool {
        self.is_estimated() || self.about().seen == Seen::Faults
    }

    /// Whether the values of rows add up to the total.
    pub const fn adds_up(self) -> bool {
        matches!(self.about().together, Together::Sum | Together::Level | Together::Peak)
    }
}

/// By the name that options have.
impl Serialize for Metric {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.about().name)
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Metric::named(&name).ok_or_else(|| {
            let names: Vec<&str> = TABLE.iter().map(|about| about.name).collect();
            serde::de::Error::custom(format!("no metric is called \"{name}\"; there are {}", names.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::{COUNTS, Metrics};
    use std::collections::BTreeSet;

    #[test]
    fn each_metric_is_where_its_number_says_and_has_names_of_its_own() {
        for (index, about) in TABLE.iter().enumerate() {
            assert_eq!(about.metric as usize, index);
            assert_eq!(Metric::named(about.name), Some(about.metric));
            assert!(about.help.ends_with('.') && about.help.len() > 20, "{}: {}", about.name, about.help);
            let key = match about.name {
                "bytes" => "bytes".to_owned(),
                name => name.replace('-', "_") + about.unit.in_keys(),
            };
            assert_eq!(about.key, key);
        }
        let all = |of: fn(&About) -> &str| TABLE.iter().map(of).collect::<BTreeSet<_>>().len();
        assert_eq!([all(|about| about.name), all(|about| about.key)], [TABLE.len(); 2]);
    }

    #[test]
    fn a_row_has_the_digits_that_are_known() {
        let sampled = Estimate::by_chance(400.0, 1600.0);
        assert_eq!([sampled, Estimate::exact(417.0)].map(|of| Metric::Faults.show(of)), ["400", "417"]);
        assert_eq!(Metric::Bytes.show(Estimate::exact(6400.0)), "6.2 KiB");
        assert_eq!(Metric::Cost.show(Estimate::within(1_234_567.0, 0.1, 0.1)), "1.23 ms");
        assert_eq!(Metric::Cost.show(Estimate::within(12_345_678.0, 0.5, 0.5)), "12 ms");
    }

    /// The counts that change a metric.
    fn counts_of(metric: Metric) -> Vec<&'static str> {
        let changes = |count: &&crate::Count| {
            let mut counts = Metrics::default();
            *(count.of)(&mut counts) = 1;
            metric.sum(&Priced::from(counts)) != 0
        };
        COUNTS.iter().filter(changes).map(|count| count.name).collect()
    }

    #[test]
    fn a_metric_that_is_a_count_has_its_name() {
        let mut number = 0;
        for about in TABLE.iter().filter(|about| about.metric.over().is_none()) {
            if let [count] = counts_of(about.metric)[..] {
                assert_eq!(about.key, count);
                number += 1;
            }
        }
        assert!(number > 10, "{number}");
    }
}
