//! What a change saves: one list, from which the fields, JSON keys and names of all printers come.

use crate::range::Range;
use memtoll_text::Quantity;
use memtoll_text::format::{Unit, ranged};
use serde::Serialize;

/// Page faults by which two builds of one program differ: code, data and the heap begin elsewhere.
const FAULTS: f64 = 24.0;
/// The same as a share of all.
const SHARE: f64 = 0.005;

macro_rules! savings {
    ($($(#[doc = $help:literal])* $saving:ident $field:ident $title:literal $unit:ident;)*) => {
        /// What a change saves in one run of the program that was recorded. Less than nothing is a loss; nothing is left out
        /// where it is 0.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
        pub struct Saves {
            $($(#[doc = $help])* pub $field: Range,)*
        }

        /// A kind of saving.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Saving {
            $($(#[doc = $help])* $saving,)*
        }

        impl Saving {
            /// All, in the order in which they are shown.
            pub const ALL: &[Saving] = &[$(Saving::$saving),*];
        }

        impl Quantity for Saving {
            fn row(self) -> (&'static str, &'static str, Unit) {
                match self {
                    $(Saving::$saving => (stringify!($field), $title, Unit::$unit),)*
                }
            }
        }

        impl Saves {
            /// How much of it.
            pub fn of(&self, saving: Saving) -> Range {
                match saving {
                    $(Saving::$saving => self.$field,)*
                }
            }

            /// How much of it, to change it.
            pub fn of_mut(&mut self, saving: Saving) -> &mut Range {
                match saving {
                    $(Saving::$saving => &mut self.$field,)*
                }
            }

            /// Both.
            pub fn plus(&self, other: &Saves) -> Saves {
                Saves { $($field: self.$field.plus(other.$field),)* }
            }
        }
    };
}

savings! {
    /// CPU time, ns.
    Cpu cpu_ns "CPU time" Time;
    /// Time from start to end, ns.
    Wall wall_ns "wall time" Time;
    /// Page faults.
    Faults faults "page faults" Count;
    /// Allocations and reallocations.
    Allocations allocations "allocations" Count;
    /// Bytes that they ask for.
    Bytes bytes "bytes allocated" Bytes;
    /// Bytes live at the peak.
    Peak peak_bytes "live at the peak" Bytes;
    /// The largest resident set, bytes.
    ResidentPeak resident_peak_bytes "resident set" Bytes;
    /// The resident set at the end, bytes.
    ResidentEnd resident_end_bytes "resident set at the end" Bytes;
}

impl Saves {
    /// How much of it, in words; nothing for what is neither saved nor lost.
    pub fn amount(&self, saving: Saving) -> Option<String> {
        let of = self.of(saving);
        (!of.is_nothing()).then(|| ranged(saving.unit(), of.likely, of.low, of.high))
    }

    /// CPU time of no more than `program` ns, which it takes at all. What is cut keeps its relative error, and wall time goes with it.
    pub fn cut_to_program(&mut self, program: f64) {
        let cpu = self.cpu_ns.of_at_most(program);
        if self.cpu_ns.likely > cpu.likely {
            self.wall_ns = self.wall_ns.scaled(cpu.likely / self.cpu_ns.likely);
        }
        self.cpu_ns = cpu;
    }

    /// Widens what is predicted of page faults and the resident set to what two builds of one program differ by, and says
    /// nothing of less. `faults`: of the run; `page`: bytes of a page.
    pub fn at_least_as_wide_as_chance(&mut self, faults: f64, resident: f64, page: f64) {
        let memory = FAULTS * page + resident * SHARE;
        let all = [
            (&mut self.faults, FAULTS + faults * SHARE),
            (&mut self.resident_peak_bytes, memory),
            (&mut self.resident_end_bytes, memory),
        ];
        for (range, width) in all {
            match range.low.abs() <= width && range.high.abs() <= width {
                true => *range = Range::default(),
                false => {
                    *range = Range::new(
                        range.low.min(range.likely - width),
                        range.likely,
                        range.high.max(range.likely + width),
                    )
                }
            }
        }
    }

    /// Says nothing of memory where it is less than `little` bytes, saved or lost.
    pub fn without_little_memory(&mut self, little: f64) {
        for range in [&mut self.peak_bytes, &mut self.resident_peak_bytes, &mut self.resident_end_bytes] {
            if range.low > -little && range.high < little {
                *range = Range::default();
            }
        }
    }
}
