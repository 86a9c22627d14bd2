//! How counts add up, and which blocks of files have them.

use crate::list::{COUNTS, Metrics};

/// How the counts of two sites become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Adds {
    /// They are added.
    Sum,
    /// They are added. What a chapter adds may be less than 0: it wraps around.
    Level,
    /// They are added. The sum, too, may be less than 0.
    Balance,
    /// The largest one.
    Largest,
    /// The bits of both.
    Bits,
}

impl Adds {
    /// Both together.
    #[inline(always)]
    pub const fn together(self, one: u64, other: u64) -> u64 {
        match self {
            Adds::Sum | Adds::Level | Adds::Balance => one.wrapping_add(other),
            Adds::Largest if one > other => one,
            Adds::Largest => other,
            Adds::Bits => one | other,
        }
    }

    /// What is left of all without a part of it. The largest one, and bits, may be anyone's.
    #[inline(always)]
    pub const fn without(self, all: u64, part: u64) -> u64 {
        match self {
            Adds::Sum | Adds::Level => all.saturating_sub(part),
            Adds::Balance => all.wrapping_sub(part),
            Adds::Largest | Adds::Bits => all,
        }
    }

    /// Whether what two sites have adds up.
    pub const fn is_sum(self) -> bool {
        matches!(self, Adds::Sum | Adds::Level | Adds::Balance)
    }

    /// Whether files have it zigzag.
    pub const fn is_signed(self) -> bool {
        matches!(self, Adds::Level | Adds::Balance)
    }
}

/// What is known of a count, as bits. Blocks of files whose sites have it: a summary, a chapter, and the parts of a chapter
/// that are not usual.
pub(crate) const SUMMARY: u8 = 1 << 0;
pub(crate) const CHAPTER: u8 = 1 << 1;
pub(crate) const PART: u8 = 1 << 2;
/// It is a sum of weights where only a sample of what happened was recorded.
pub(crate) const SAMPLED: u8 = 1 << 3;

/// An entry of the list.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// Its number in files. Never reused or changed.
    pub tag: u8,
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// How it adds up.
    pub adds: Adds,
    pub(crate) marks: u8,
    /// Where it is.
    pub of: fn(&mut Metrics) -> &mut u64,
}

impl Count {
    /// The blocks of files that have it.
    pub fn blocks(&self) -> impl Iterator<Item = &'static str> {
        let marks = self.marks;
        let all = [(SUMMARY, "summary"), (CHAPTER, "chapter"), (PART, "parts")];
        all.into_iter().filter(move |(mark, _)| marks & mark != 0).map(|(_, name)| name)
    }
}

macro_rules! counts {
    ($($(#[doc = $about:literal])* $tag:literal $field:ident: $amount:ident $adds:ident { $($mark:ident)* };)*) => {
        /// What is counted for a call site, a process, or a whole recording.
        ///
        /// Bytes are those asked for.
        #[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
        pub struct Metrics {
            $($(#[doc = $about])* pub $field: $amount,)*
        }

        /// All counts, in the order of [`Metrics::values`].
        pub const COUNTS: &[Count] = &[$(Count {
            tag: $tag,
            name: stringify!($field),
            about: concat!($($about),*),
            adds: Adds::$adds,
            marks: 0 $(| $mark)*,
            of: |metrics| metrics.$field.number_mut(),
        }),*];

        impl Metrics {
            /// Adds what another site or process counted. Peaks add up too: they are shares of one instant's live bytes.
            pub fn add(&mut self, other: &Metrics) {
                $(*self.$field.number_mut() = Adds::$adds.together(self.$field.number(), other.$field.number());)*
            }

            /// Takes away what a part counted.
            pub fn subtract(&mut self, part: &Metrics) {
                $(*self.$field.number_mut() = Adds::$adds.without(self.$field.number(), part.$field.number());)*
            }

            /// Takes away what a part counted, wrapping around; what is no sum stays.
            pub fn subtract_sums(&mut self, part: &Metrics) {
                $(if Adds::$adds.is_sum() {
                    *self.$field.number_mut() = self.$field.number().wrapping_sub(part.$field.number());
                })*
            }

            /// All counts, in the order of [`COUNTS`].
            #[inline]
            pub fn values(&self) -> [u64; COUNTS.len()] {
                [$(self.$field.number()),*]
            }

            /// The inverse.
            #[inline]
            pub fn of_values(values: [u64; COUNTS.len()]) -> Metrics {
                let mut metrics = Metrics::default();
                let [$($field),*] = values;
                $(*metrics.$field.number_mut() = $field;)*
                metrics
            }

            /// Its counts that are not 0, each with its place in [`COUNTS`].
            pub fn numbers(&self) -> impl Iterator<Item = (usize, u64)> {
                self.values().into_iter().enumerate().filter(|(_, value)| *value != 0)
            }

            /// Adds to the count in a place what another one has there.
            #[inline]
            pub fn add_number(&mut self, place: usize, more: u64) {
                let Count { of, adds, .. } = COUNTS[place];
                let number = of(self);
                *number = adds.together(*number, more);
            }
        }
    };
}

/// The place in [`COUNTS`] of the count with a tag.
pub const fn place_of(tag: u8) -> usize {
    let mut index = 0;
    while COUNTS[index].tag != tag {
        index += 1;
    }
    index
}

/// Some of the counts, by their place in [`COUNTS`].
pub type Chosen<const N: usize> = [usize; N];

const fn how_many(mark: u8) -> usize {
    let (mut many, mut index) = (0, 0);
    while index < COUNTS.len() {
        many += (COUNTS[index].marks & mark != 0) as usize;
        index += 1;
    }
    many
}

const fn chosen<const N: usize>(mark: u8) -> Chosen<N> {
    let (mut all, mut many, mut index) = ([0; N], 0, 0);
    while index < COUNTS.len() {
        if COUNTS[index].marks & mark != 0 {
            all[many] = index;
            many += 1;
        }
        index += 1;
    }
    all
}

/// What a summary has of each site.
pub const OF_SUMMARY: Chosen<{ how_many(SUMMARY) }> = chosen(SUMMARY);
/// What a chapter has.
pub const OF_CHAPTER: Chosen<{ how_many(CHAPTER) }> = chosen(CHAPTER);
/// What the parts of a chapter have.
pub const OF_PART: Chosen<{ how_many(PART) }> = chosen(PART);
/// What may be sampled.
pub const SAMPLED_COUNTS: Chosen<{ how_many(SAMPLED) }> = chosen(SAMPLED);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_places_are_those_of_one_count() {
        let mut metrics = Metrics::default();
        for (index, count) in COUNTS.iter().enumerate() {
            assert!(COUNTS[..index].iter().all(|earlier| earlier.tag != count.tag), "{count:?}");
            *(count.of)(&mut metrics) = index as u64 + 1;
        }
        assert_eq!(metrics.values().to_vec(), (1..=COUNTS.len() as u64).collect::<Vec<_>>());
        assert_eq!(Metrics::of_values(metrics.values()), metrics);
    }
}
