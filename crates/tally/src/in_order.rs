//! Work for all processors, whose results are taken in order.

use std::ops::Range;
use std::sync::mpsc::sync_channel;

/// Results of one thread that are not taken yet: they may be large.
const AHEAD: usize = 2;

/// Does `work` for each number, and gives the results to `take` in the order of the numbers, until it fails. Each thread has a
/// state of its own.
pub fn in_order<S: Send, T: Send, E>(
    numbers: Range<usize>,
    mut state: impl FnMut() -> S,
    work: impl Fn(&mut S, usize) -> T + Sync,
    mut take: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get()).min(numbers.len());
    let (work, mut own) = (&work, None);
    std::thread::scope(|scope| {
        let mut found = Vec::new();
        for first in (0..threads).filter(|_| threads > 1) {
            let mut some = numbers.clone().skip(first).step_by(threads);
            let (send, receive) = sync_channel(AHEAD);
            let mut state = state();
            // The other side may have had enough.
            let all = move || _ = some.all(|number| send.send(work(&mut state, number)).is_ok());
            // Where there is no thread, nothing is received.
            let _ = std::thread::Builder::new().spawn_scoped(scope, all);
            found.push(receive);
        }
        for (place, number) in numbers.clone().enumerate() {
            let ahead = found.get(place % threads).and_then(|receive| receive.recv().ok());
            take(number, ahead.unwrap_or_else(|| work(own.get_or_insert_with(&mut state), number)))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_until_they_are_enough() {
        for (numbers, enough) in [(0..0, 9), (3..4, 9), (5..1000, 1000), (0..1000, 500)] {
            let mut taken = Vec::new();
            let work = |seen: &mut usize, number: usize| {
                *seen += 1;
                (number * number, *seen)
            };
            let end = in_order(
                numbers.clone(),
                || 0,
                work,
                |number, (square, seen)| {
                    taken.push((number, square));
                    if number < enough { Ok(()) } else { Err(seen) }
                },
            );
            let expected: Vec<_> = numbers.clone().take_while(|number| *number <= enough).map(|n| (n, n * n)).collect();
            assert_eq!(taken, expected);
            // A thread has seen its share of the numbers before, not those of others.
            assert_eq!(end.is_err(), numbers.end > enough);
            assert!(end.err().is_none_or(|seen| seen >= 1 && seen <= enough + 1));
        }
    }
}
