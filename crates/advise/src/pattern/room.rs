//! What it would do to make the same room for all instances that grow, however many elements each of them gets.

use super::Pattern;

/// Shares of instances for which the room is enough, among which the best is chosen.
const SHARES: [f64; 3] = [0.5, 0.75, 0.9];

/// The same room for each instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// How much, in bytes.
    pub bytes: u64,
    /// The share of all steps that go, from 0 to 1.
    pub steps: f64,
    /// Bytes of all instances that are not used.
    pub unused: u64,
    /// The same of those that live at one instant, at the most.
    pub unused_at_once: f64,
    /// The part of these that lies in pages which are touched anyway.
    pub touched_at_once: f64,
}

impl Room {
    /// The one that saves most, where a byte that is not used in a touched page costs so much of what all steps together
    /// cost. Elements and pages are of so many bytes.
    pub fn best(pattern: &Pattern, element: u64, page: u64, unused_byte: f64) -> Room {
        let worth = |room: &Room| room.steps - room.touched_at_once * unused_byte;
        let rooms = SHARES.map(|share| Room::of(pattern, element, page, pattern.quantile(share)));
        rooms.into_iter().max_by(|one, other| worth(one).total_cmp(&worth(other))).expect("more than none")
    }

    fn of(pattern: &Pattern, element: u64, page: u64, bytes: u64) -> Room {
        // Containers grow by a factor, so steps follow the logarithm.
        let steps = |size: u64| (size.max(1) as f64 / element.max(1) as f64).max(1.0).log2();
        let (mut all, mut gone, mut unused, mut touched) = (0.0, 0.0, 0u64, 0u64);
        for (&size, &number) in &pattern.finals {
            all += steps(size) * number as f64;
            gone += steps(size.min(bytes)) * number as f64;
            // Sizes of a damaged file may be beyond all sums.
            let room = bytes.saturating_sub(size);
            unused = unused.saturating_add(room.saturating_mul(number));
            touched = touched.saturating_add(room.min(page).saturating_mul(number));
        }
        let live = (pattern.most_live as f64 / pattern.instances.max(1) as f64).min(1.0);
        Room {
            bytes,
            steps: if all > 0.0 { gone / all } else { 1.0 },
            unused,
            unused_at_once: unused as f64 * live,
            touched_at_once: touched as f64 * live,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(finals: &[(u64, u64)], most_live: u64) -> Pattern {
        let instances = finals.iter().map(|(_, number)| number).sum();
        Pattern { finals: finals.iter().copied().collect(), instances, most_live, ..Pattern::default() }
    }

    fn best(finals: &[(u64, u64)], most_live: u64) -> Room {
        Room::best(&pattern(finals, most_live), 8, 4096, 2e-6)
    }

    #[test]
    fn instances_of_one_size_get_that() {
        let room = best(&[(1024, 100)], 100);
        assert_eq!((room.bytes, room.steps, room.unused, room.touched_at_once), (1024, 1.0, 0, 0.0));
        assert_eq!(best(&[(8 << 20, 1)], 1).bytes, 8 << 20);
    }

    #[test]
    fn room_that_is_not_used_costs_where_it_is_live() {
        // Most have one element; the others, 128.
        let finals = [(8, 800), (1024, 200)];
        let all_live = best(&finals, 1000);
        assert_eq!((all_live.bytes, all_live.steps), (8, 0.0));
        let one_live = best(&finals, 1);
        assert_eq!((one_live.bytes, one_live.steps, one_live.unused), (1024, 1.0, 800 * 1016));
        assert!((one_live.unused_at_once - 812.8).abs() < 0.01);
    }

    #[test]
    fn pages_that_nobody_touches_cost_nothing() {
        let room = Room::of(&pattern(&[(1 << 20, 1), (4 << 20, 9)], 10), 8, 4096, 4 << 20);
        assert_eq!((room.unused_at_once, room.touched_at_once), (f64::from(3 << 20), 4096.0));
    }

    #[test]
    fn less_room_saves_the_first_steps() {
        let room = Room::of(&pattern(&[(1024, 1)], 1), 8, 4096, 128);
        assert_eq!((room.steps, room.unused), (4.0 / 7.0, 0));
    }
}
