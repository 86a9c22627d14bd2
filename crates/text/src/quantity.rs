//! What a table shows of something, one row or column each.

use crate::format::Unit;

/// A figure with its key, its title and its unit, which are declared in one place.
pub trait Quantity: Copy {
    /// Key in JSON, title in text, unit.
    fn row(self) -> (&'static str, &'static str, Unit);

    /// Key in JSON.
    fn key(self) -> &'static str {
        self.row().0
    }

    /// Title of a row or column; parts are indented below what they are parts of.
    fn title(self) -> &'static str {
        self.row().1
    }

    /// What it counts.
    fn unit(self) -> Unit {
        self.row().2
    }
}
