//! Limits of the system that memtoll raises for itself, and that the program must not see.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The supervisor needs a file of its own size and a descriptor for each process; the target gets what was there.
#[derive(Clone, Copy)]
pub struct Limits {
    file_size: Rlimit,
    files: Rlimit,
}

impl Limits {
    /// Raises this process's limits as far as they go, and remembers them.
    pub fn raise() -> Limits {
        let limits = Limits { file_size: getrlimit(Resource::Fsize), files: getrlimit(Resource::Nofile) };
        // Only root can go beyond the hard limit. There is none for descriptors that could be asked for.
        let none = Rlimit { current: None, maximum: None };
        if setrlimit(Resource::Fsize, none).is_err() {
            let limit = limits.file_size;
            let _ = setrlimit(Resource::Fsize, Rlimit { current: limit.maximum, maximum: limit.maximum });
        }
        let limit = limits.files;
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
        limits
    }

    /// Sets this process's limits to what they were.
    pub fn restore(self) {
        let _ = setrlimit(Resource::Fsize, self.file_size);
        let _ = setrlimit(Resource::Nofile, self.files);
    }
}
