//! The global variables of loaded files.

use serde::{Deserialize, Serialize};

/// The variables in the writable memory of a file, static locals included, by address; no two overlap.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct FileVariables {
    /// Path, as in [`crate::meta::Module`].
    pub path: String,
    /// Build id, as in [`crate::meta::Module`].
    pub build_id: String,
    /// Those of 256 bytes or more.
    pub variables: Vec<Variable>,
    /// Where smaller ones lie, those that follow each other together: first address in the file, bytes.
    pub small: Vec<(u64, u64)>,
}

/// A global variable.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Variable {
    /// Its name, demangled.
    pub name: String,
    /// First address in the file: that in memory minus the bias.
    pub start: u64,
    /// Its size.
    pub bytes: u64,
    /// The source file that declares it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in the source file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}
