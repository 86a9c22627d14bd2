//! A variable of the environment that chooses or tunes an allocator.

/// The variable, and its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Setting {
    /// Tunables of glibc.
    Tunables(String),
    /// The library with another allocator.
    Library(String),
}

impl Setting {
    /// What the variable is called.
    pub fn name(&self) -> &'static str {
        match self {
            Setting::Tunables(_) => "GLIBC_TUNABLES",
            Setting::Library(_) => "LD_PRELOAD",
        }
    }

    pub fn value(&self) -> &str {
        let (Setting::Tunables(value) | Setting::Library(value)) = self;
        value
    }

    /// The library, if it is one.
    pub fn library(&self) -> Option<&str> {
        match self {
            Setting::Library(path) => Some(path),
            Setting::Tunables(_) => None,
        }
    }
}
