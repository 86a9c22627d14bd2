//! Advice as people and programs read it: a file for each format.

mod json;
mod markdown;
mod sarif;
mod text;
mod words;

pub use json::json;
pub use markdown::markdown;
pub use sarif::sarif;
pub use text::text;
pub use words::verified;
