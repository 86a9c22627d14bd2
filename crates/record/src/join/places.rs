//! Numbers for the code addresses at which costs were paid.

use memtoll_trace::costs::Place;
use rustc_hash::FxHashMap;

/// Addresses at the most; what is paid elsewhere then is paid at an unknown place.
const MOST: usize = 1 << 20;

#[derive(Default)]
pub struct Places {
    numbers: FxHashMap<u64, u32>,
    addresses: Vec<u64>,
}

impl Places {
    /// The place of a code address.
    pub fn of(&mut self, address: u64) -> Place {
        if let Some(&number) = self.numbers.get(&address) {
            return Place::Code(number);
        }
        if self.addresses.len() >= MOST {
            return Place::Unknown;
        }
        let number = self.addresses.len() as u32;
        self.numbers.insert(address, number);
        self.addresses.push(address);
        Place::Code(number)
    }

    /// All addresses, by number.
    pub fn addresses(&self) -> &[u64] {
        &self.addresses
    }
}
