//! Adds up the sums of branches from the leaves to the root, once for all trees.

use super::twig::Twig;
use crate::priced::Priced;
use crate::sums::Site;

/// No sums, or no branch.
const NONE: u32 = u32::MAX;

/// The sums of branches whose callers come later. A sum is hundreds of bytes long, and there are hundreds of thousands of branches: the
/// place of one is used again.
#[derive(Default)]
struct Open {
    sums: Vec<Priced>,
    free: Vec<u32>,
}

impl Open {
    /// A place with nothing in it.
    fn place(&mut self) -> u32 {
        if let Some(place) = self.free.pop() {
            self.sums[place as usize] = Priced::default();
            return place;
        }
        self.sums.push(Priced::default());
        self.sums.len() as u32 - 1
    }

    /// Adds what stands in a place to another one, and frees it.
    fn give(&mut self, place: u32, to: u32) {
        let sums = self.sums[place as usize];
        self.sums[to as usize].add(&sums);
        self.free.push(place);
    }
}

/// Calls `take` with each branch that has sums, from the leaves to the root: its number, its sums, and the branch below it that has the
/// same, if there is one. `ends` are the sites with the branch at which each ends.
pub(super) fn each_branch(
    twigs: &[Twig],
    mut ends: Vec<(u32, Site)>,
    mut take: impl FnMut(usize, &Priced, Option<usize>),
) {
    ends.sort_unstable_by_key(|(branch, _)| *branch);
    let mut open = Open::default();
    // By branch: where its sums stand, and the only branch whose sums these are.
    let mut places = vec![(NONE, NONE); twigs.len()];
    for branch in (0..twigs.len() as u32).rev() {
        let (mut place, mut same) = places[branch as usize];
        while let Some((_, site)) = ends.pop_if(|(end, _)| *end == branch) {
            if place == NONE {
                place = open.place();
            }
            same = NONE;
            site.add_to(&mut open.sums[place as usize]);
        }
        if place == NONE {
            continue;
        }
        take(branch as usize, &open.sums[place as usize], (same != NONE).then_some(same as usize));
        if branch == 0 {
            return;
        }
        // Most branches call one other, and take its sums over.
        let caller = &mut places[twigs[branch as usize].parent as usize];
        match caller.0 {
            NONE => *caller = (place, branch),
            callers => {
                caller.1 = NONE;
                open.give(place, callers);
            }
        }
    }
}
