//! The global variables of loaded files. Their block is one zstd frame of JSON.

use crate::Damage;
use serde::{Deserialize, Serialize};

/// Longest uncompressed payload, bytes.
const MAX_BYTES: usize = 256 << 20;

/// As a payload.
pub fn encode(files: &[FileVariables]) -> Vec<u8> {
    crate::compress(&serde_json::to_vec(files).unwrap_or_default())
}

/// From a payload.
pub fn decode(payload: &[u8]) -> Result<Vec<FileVariables>, Damage> {
    let plain = crate::decompress(payload, MAX_BYTES)?;
    serde_json::from_slice(&plain).map_err(|_| Damage::Value("a list of variables that is none"))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_come_back_and_damage_is_an_error() {
        let table = Variable { name: "app::table".into(), start: 0x4000, bytes: 4096, ..Variable::default() };
        let declared = Variable { file: Some("app.cpp".into()), line: Some(7), start: 0x5000, ..table.clone() };
        let small = vec![(0x6000, 24)];
        let files =
            [FileVariables { path: "/app".into(), build_id: "0a".into(), variables: vec![table, declared], small }];
        assert_eq!(decode(&encode(&files)).unwrap(), files);
        assert!(decode(&crate::compress(b"[{}]")).is_err());
        assert!(decode(b"{}").is_err());
    }
}
