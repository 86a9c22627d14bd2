//! The version of everything that is printed as JSON.

/// Grows when a name disappears or changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;
