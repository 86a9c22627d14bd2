//! Which marks are worth a look at the pages: a program may set one in each of a million rounds.

use memtoll_trace::meta::MarkKind;
use rustc_hash::FxHashMap;

/// The first marks of a name that are all looked at; later ones are if their number is a power of two.
const FIRST: u32 = 16;
/// Names that are counted.
const MOST_NAMES: usize = 256;

#[derive(Default)]
pub struct MarksLookedAt {
    times: FxHashMap<Box<str>, u32>,
}

impl MarksLookedAt {
    /// Whether this mark, which has just been set, is one of them.
    pub fn wants(&mut self, name: &str, kind: MarkKind) -> bool {
        // What a region leaves behind shows at its end.
        if kind == MarkKind::Begin {
            return false;
        }
        if let Some(times) = self.times.get_mut(name) {
            *times = times.saturating_add(1);
            return *times <= FIRST || times.is_power_of_two();
        }
        let has_room = self.times.len() < MOST_NAMES;
        if has_room {
            self.times.insert(name.into(), 1);
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_marks_few_are_looked_at() {
        let mut marks = MarksLookedAt::default();
        let looked: Vec<u32> = (1..=1000).filter(|_| marks.wants("round", MarkKind::Instant)).collect();
        assert_eq!(looked, (1..=16).chain([32, 64, 128, 256, 512]).collect::<Vec<_>>());
        assert!(marks.wants("loaded", MarkKind::Instant));
        assert!(!marks.wants("frame", MarkKind::Begin));
        assert!(marks.wants("frame", MarkKind::End));
        let names = (0..1000).filter(|name| marks.wants(&format!("request {name}"), MarkKind::Instant)).count();
        assert_eq!(names, 256 - 3);
    }
}
