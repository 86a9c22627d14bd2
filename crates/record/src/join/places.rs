//! Numbers for the code addresses at which costs were paid.

use memtoll_trace::costs::Place;
use memtoll_trace::ids::Ticks;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Addresses at the most; what is paid elsewhere then is paid at an unknown place.
const MOST: usize = 1 << 20;

/// When the code of a file was mapped. After an unload, another file's may come to lie at the same addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeMapped {
    pub path: Arc<str>,
    pub at: Ticks,
}

/// Code at which costs were paid.
#[derive(Clone, Debug)]
pub struct CodePlace {
    pub address: u64,
    /// The mapping that held it; `None`: the kernel told of none.
    pub mapped: Option<CodeMapped>,
}

#[derive(Default)]
pub struct Places {
    numbers: FxHashMap<(u64, Ticks), u32>, // address, when its code was mapped
    places: Vec<CodePlace>,
}

impl Places {
    pub fn of(&mut self, address: u64, mapped: Option<&CodeMapped>) -> Place {
        let key = (address, mapped.map_or(Ticks::ZERO, |mapped| mapped.at));
        if let Some(&number) = self.numbers.get(&key) {
            return Place::Code(number);
        }
        if self.places.len() >= MOST {
            return Place::Unknown;
        }
        let number = self.places.len() as u32;
        self.numbers.insert(key, number);
        self.places.push(CodePlace { address, mapped: mapped.cloned() });
        Place::Code(number)
    }

    /// All of them, by number.
    pub fn all(&self) -> &[CodePlace] {
        &self.places
    }
}
