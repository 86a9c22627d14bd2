//! Work that all processors share.

use memtoll_model::reading;
use memtoll_trace::unreadable::Unreadable;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Adds up parts 0 to `count`, each processor some of them, into sums that begin as `A::default()`. The order of parts is
/// not kept. The first error ends all.
pub(crate) fn fold<A: Default + Send>(
    count: usize,
    add: impl Fn(&mut A, usize) -> Result<(), Unreadable> + Sync,
    mut merge: impl FnMut(&mut A, A),
) -> Result<A, Unreadable> {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get()).min(count);
    let next = AtomicUsize::new(0);
    let reading = reading::current();
    let work = || -> Result<A, Unreadable> {
        let mut sum = A::default();
        loop {
            let part = next.fetch_add(1, Relaxed);
            if part >= count {
                return Ok(sum);
            }
            if let Err(why) = add(&mut sum, part) {
                next.store(count, Relaxed);
                return Err(why);
            }
        }
    };
    let other = || reading::during(reading.clone(), work);
    std::thread::scope(|scope| {
        // Where there is no thread, this one does all.
        let others: Vec<_> =
            (1..threads).filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, other).ok()).collect();
        let mut sum = work();
        for other in others {
            let other = other.join().unwrap_or_else(|_| Err(Unreadable::ThreadFailed));
            sum = match (sum, other) {
                (Ok(mut sum), Ok(other)) => {
                    merge(&mut sum, other);
                    Ok(sum)
                }
                (Err(why), _) | (_, Err(why)) => Err(why),
            };
        }
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_counts_once() {
        let add = |sum: &mut usize, part| {
            *sum += part;
            Ok(())
        };
        let sum = |count| fold(count, add, |sum, other| *sum += other);
        assert_eq!([0, 1, 1000].map(|count| sum(count).unwrap()), [0, 0, 499_500]);
        let fails = |_: &mut usize, part| if part == 77 { Err(Unreadable::Absent("no")) } else { Ok(()) };
        assert!(matches!(fold(1000, fails, |_, _| ()), Err(Unreadable::Absent("no"))));
    }
}
