//! The sites to which something happens in a slice, so that the end of a slice takes no time for the others: a program may have
//! hundreds of thousands of sites, and a recording hundreds of slices.

use super::Tally;
use crate::Select;
use memtoll_trace::metrics::Metrics;

impl<S: Select> Tally<S> {
    /// Another window begins; what counted so far is forgotten, with the mappings among the costs. From the second one on, only sites
    /// are looked at to which something happened in the last one.
    pub(crate) fn begin_slice(&mut self, time: u64) {
        self.costs.fill(Metrics::default());
        match self.touched.take() {
            None => {
                self.begin_window(time);
                self.touched = Some(Touched::default());
            }
            Some(mut touched) => {
                self.begin_peaks(time);
                touched.drain().for_each(|site| self.forget_counts_of(site));
                self.touched = Some(touched);
            }
        }
    }

    /// Something happens to a site.
    #[inline(always)]
    pub(super) fn touch(&mut self, site: usize) {
        if !S::EVERYTHING
            && let Some(touched) = &mut self.touched
        {
            touched.add(site);
        }
    }
}

/// Sites, by number, each once.
#[derive(Default)]
pub(super) struct Touched {
    /// By site: whether it is one of these.
    is_there: Vec<bool>,
    all: Vec<u32>,
}

impl Touched {
    #[inline(always)]
    pub fn add(&mut self, site: usize) {
        if self.is_there.get(site).is_none_or(|is_there| !is_there) {
            self.add_new(site);
        }
    }

    #[cold]
    fn add_new(&mut self, site: usize) {
        if self.is_there.len() <= site {
            self.is_there.resize((site + 1).next_power_of_two(), false);
        }
        self.is_there[site] = true;
        self.all.push(site as u32);
    }

    /// All of them, in ascending order.
    pub fn in_order(&mut self) -> Vec<usize> {
        self.all.sort_unstable();
        self.all.iter().map(|site| *site as usize).collect()
    }

    /// Takes all of them out.
    pub fn drain(&mut self) -> impl Iterator<Item = usize> {
        let Touched { is_there, all } = self;
        all.drain(..).map(|site| {
            is_there[site as usize] = false;
            site as usize
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_there_once_and_gone_when_they_are_taken_out() {
        let mut touched = Touched::default();
        for round in 0..2 {
            [7, 300, 7, 0, 300, 2].into_iter().for_each(|site| touched.add(site));
            assert_eq!(touched.in_order(), [0, 2, 7, 300], "round {round}");
            assert_eq!(touched.drain().collect::<Vec<_>>(), [0, 2, 7, 300]);
            assert_eq!(touched.in_order(), Vec::<usize>::new());
        }
    }
}
