//! How the resident set of a process went, at some hundred instants.

/// Instants at the most.
const MOST: usize = 512;

/// The program's part of the resident set, looked at now and then.
#[derive(Default)]
pub struct ResidentCurve {
    points: Vec<(u64, u64)>,
    /// Looks that one instant stands for, a power of two, and those since the last one.
    looks: u32,
    since: u32,
}

impl ResidentCurve {
    /// At a time, ticks; bytes.
    pub fn add(&mut self, at: u64, bytes: u64) {
        self.since += 1;
        match self.points.last_mut() {
            // Of the looks that an instant stands for, the highest one.
            Some(last) if self.since < self.looks => {
                if bytes > last.1 {
                    *last = (at, bytes);
                }
                return;
            }
            _ => self.since = 0,
        }
        if self.points.len() == MOST {
            self.points =
                self.points.chunks(2).filter_map(|pair| pair.iter().max_by_key(|point| point.1).copied()).collect();
            self.looks = self.looks.max(1) * 2;
        }
        self.points.push((at, bytes));
    }

    /// The last value, from the process's own word, ticks and bytes: looks after it saw the process end.
    pub fn end(&mut self, at: u64, bytes: u64) {
        self.points.retain(|point| point.0 < at);
        self.points.push((at, bytes));
    }

    /// All of it, with times as `units` has them.
    pub fn take(&mut self, units: impl Fn(u64) -> u64) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.points).into_iter().map(|(at, bytes)| (units(at), bytes)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_looks_stay() {
        let mut curve = ResidentCurve::default();
        let bytes = |at: u64| if at == 4_711 { 1_000_000 } else { at };
        (0..10_000).for_each(|at| curve.add(at, bytes(at)));
        let points = curve.take(|at| at);
        assert!((MOST / 2..=MOST).contains(&points.len()), "{}", points.len());
        assert!(points.contains(&(4_711, 1_000_000)));
        assert!(points.is_sorted_by_key(|point| point.0) && points.iter().all(|point| point.1 == bytes(point.0)));
        let last = points.last().unwrap();
        assert!(last.0 > 9_900, "{last:?}");
    }

    #[test]
    fn the_process_has_the_last_word() {
        let mut curve = ResidentCurve::default();
        [(10, 5), (20, 7), (30, 1)].into_iter().for_each(|(at, bytes)| curve.add(at, bytes));
        curve.end(25, 9);
        assert_eq!(curve.take(|at| at), [(10, 5), (20, 7), (25, 9)]);
    }
}
