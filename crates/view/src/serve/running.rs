//! Questions that are being answered: how far each is, and which of them is not wanted any more.

use memtoll_model::reading::Reading;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// By the numbers that the page gave them.
#[derive(Default)]
pub(super) struct Running(Mutex<BTreeMap<u64, Arc<Reading>>>);

impl Running {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Reading>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a question that reads; one without a number cannot be found.
    pub(super) fn begin(&self, number: Option<u64>, reading: Reading) -> Arc<Reading> {
        let reading = Arc::new(reading);
        if let Some(number) = number {
            self.all().insert(number, reading.clone());
        }
        reading
    }

    pub(super) fn end(&self, number: Option<u64>) {
        number.map(|number| self.all().remove(&number));
    }

    /// The question with a number, as long as it runs.
    pub(super) fn of(&self, number: &str) -> Option<Arc<Reading>> {
        self.all().get(&number.parse().ok()?).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_found_as_long_as_it_runs() {
        let running = Running::default();
        let reading = running.begin(Some(7), Reading::default());
        running.begin(None, Reading::default());
        running.of("7").unwrap().cancel();
        assert!(reading.is_cancelled());
        assert!(running.of("8").is_none() && running.of("").is_none() && running.of("-7").is_none());
        running.end(Some(7));
        assert!(running.of("7").is_none());
    }
}
