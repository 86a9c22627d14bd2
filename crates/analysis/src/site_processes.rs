//! Finds the processes in which a call site ran.

use crate::thread_filter::program;
use memtoll_model::{Image, Recording};
use rustc_hash::FxHashMap;

/// The process images that sums are of, as far as they are kept apart. Small, because each site has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Images {
    first: u32,
    last: u32,
    /// A bit for each program, by its number in [`Programs`]; the last one stands for all that have no bit of their own.
    programs: u64,
}

impl Images {
    pub(crate) fn single(image: u32, program: u32) -> Images {
        Images { first: image, last: image, programs: 1 << program.min(u64::BITS - 1) }
    }

    /// These, too.
    pub fn add(&mut self, other: Images) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.programs |= other.programs;
    }
}

/// The different programs of a recording's images, numbered in the order of their first images.
pub struct Programs {
    /// Of each image.
    numbers: Vec<u32>,
    /// The first image of each.
    firsts: Vec<usize>,
}

impl Programs {
    /// Of all images.
    pub fn of(recording: &Recording) -> Programs {
        Programs::of_images(&recording.images)
    }

    fn of_images(images: &[Image]) -> Programs {
        let mut firsts = Vec::new();
        let mut known: FxHashMap<&str, u32> = FxHashMap::default();
        let mut number = |(index, image)| {
            *known.entry(program(image)).or_insert_with(|| {
                firsts.push(index);
                firsts.len() as u32 - 1
            })
        };
        let numbers = images.iter().enumerate().map(&mut number).collect();
        Programs { numbers, firsts }
    }

    /// An image alone.
    pub fn image(&self, index: usize) -> Images {
        Images::single(index as u32, self.numbers[index])
    }

    /// What to say of a site that ran in `own`, where `all` are the images that count. Nothing if that says no more than
    /// which ones count.
    pub fn told(&self, own: Images, all: Images) -> Option<RanIn> {
        if own.first == own.last {
            return (all.first != all.last).then_some(RanIn::Process(own.first as usize));
        }
        let named = |bit: &usize| own.programs & 1 << bit != 0 && *bit < u64::BITS as usize - 1;
        let named: Vec<usize> = (0..self.firsts.len().min(u64::BITS as usize)).filter(named).collect();
        let has_more = own.programs >> (u64::BITS - 1) != 0;
        let programs = named.into_iter().map(|number| self.firsts[number]).collect();
        (all.programs.count_ones() > 1).then_some(RanIn::Programs { programs, has_more })
    }
}

/// Which processes a call site ran in. Processes are indices in [`Recording::images`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RanIn {
    Process(usize),
    /// Several processes.
    Programs {
        /// A process of each program that they run.
        programs: Vec<usize>,
        /// Whether there are programs beyond the 63 that are told apart.
        has_more: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0: sh, 1: cc, 2: cc, 3: ld.
    fn programs() -> Programs {
        Programs { numbers: vec![0, 1, 1, 2], firsts: vec![0, 1, 3] }
    }

    fn told(own: &[usize], all: &[usize]) -> Option<RanIn> {
        let programs = programs();
        let sum = |indices: &[usize]| {
            let mut images = programs.image(indices[0]);
            indices.iter().for_each(|index| images.add(programs.image(*index)));
            images
        };
        programs.told(sum(own), sum(all))
    }

    #[test]
    fn processes_are_told_where_there_is_a_choice() {
        let several = |programs: &[usize]| Some(RanIn::Programs { programs: programs.to_vec(), has_more: false });
        let all = [0, 1, 2, 3];
        assert_eq!(told(&[2], &all), Some(RanIn::Process(2)));
        assert_eq!(told(&[2], &[1, 2]), Some(RanIn::Process(2)), "of one program, too");
        assert_eq!(told(&[2, 1], &all), several(&[1]));
        assert_eq!(told(&[3, 1, 0], &all), several(&[0, 1, 3]));
        assert_eq!(told(&[1, 2], &[1, 2]), None, "only one program counts");
        assert_eq!(told(&[2], &[2]), None, "only one process counts");
    }

    #[test]
    fn the_63rd_program_is_the_last_with_a_name() {
        let many = Programs { numbers: (0..80).collect(), firsts: (0..80).collect() };
        let (mut some, mut all) = (many.image(62), many.image(0));
        some.add(many.image(1));
        all.add(many.image(79));
        assert_eq!(many.told(some, all), Some(RanIn::Programs { programs: vec![1, 62], has_more: false }));
        some.add(many.image(70));
        assert_eq!(many.told(some, all), Some(RanIn::Programs { programs: vec![1, 62], has_more: true }));
    }
}
