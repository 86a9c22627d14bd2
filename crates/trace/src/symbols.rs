//! The payload of the symbols block: functions, files and lines of all call addresses, so that a recording can be read
//! on another machine.

mod packed;

use crate::Damage;
use crate::ids::ImageNo;
use serde::{Deserialize, Serialize};

/// Longest uncompressed payload, bytes.
const MAX_BYTES: usize = 1 << 30;

/// Where the names of a file's functions come from. A later one says more.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum NameSource {
    /// Nowhere: the functions are shown as addresses.
    #[default]
    Nothing,
    /// The symbols that other files can call (`.dynsym`).
    Exported,
    /// A symbol table: names without lines.
    Symbols,
    /// Debug information; another file that holds a part of it is missing.
    PartOfDebugInfo,
    /// Debug information: names, lines, inlined functions, sizes of types.
    DebugInfo,
}

/// A file, with the call addresses in it that were resolved.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct ModuleSymbols {
    /// Path, as in [`crate::meta::Module`].
    pub path: String,
    /// Build id, as in [`crate::meta::Module`].
    pub build_id: String,
    /// Where its names come from.
    pub source: NameSource,
    /// Why there are no better names, if so.
    pub problem: Option<String>,
    /// Addresses in the file (address in memory minus bias), increasing.
    pub addresses: Vec<u64>,
    /// For each address, the frames of its inline chain, innermost first: indices into [`Symbols::frames`]. An address
    /// that nothing names has one frame, called [`unnamed`] and without a line.
    pub chains: Vec<Vec<u32>>,
}

/// What `/proc/PID/maps` adds to the path of a file that has no name any more.
pub const DELETED: &str = " (deleted)";

/// What a function is called that nothing names, by its first address in the file: `libfoo.so+0x1234`. Where the file does not tell
/// that address, each call in it has a name of its own.
pub fn unnamed(path: &str, address: u64) -> String {
    format!("{}+{address:#x}", file_name(path))
}

/// The last part of a loaded file's path; `[unknown]` where there is none.
pub fn file_name(path: &str) -> &str {
    path_of(path).rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("[unknown]")
}

/// How the second and later files of one path are called in a recording: `/opt/plugin.so (build 0a1b2c3d)`, or `(version 2)`
/// if they have no build id.
pub fn with_version(path: &str, version: &str) -> String {
    format!("{path} ({version})")
}

/// Which of several files of one path this is: `build 0a1b2c3d`; `None`: the first or only one.
pub fn version_of(path: &str) -> Option<&str> {
    let version = &path[path.rfind(" (")? + 2..].strip_suffix(')')?;
    let is_digits = |of: &str| !of.is_empty() && of.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digits = version.strip_prefix("build ").or_else(|| version.strip_prefix("version "))?;
    is_digits(digits).then_some(version)
}

/// A loaded file's path without what is added to it.
pub fn path_of(path: &str) -> &str {
    let path = match version_of(path) {
        Some(version) => &path[..path.len() - version.len() - " ()".len()],
        None => path,
    };
    path.strip_suffix(DELETED).unwrap_or(path)
}

/// A function at a line. Indices into [`Symbols::strings`].
pub type PackedFrame = (u32, Option<u32>, Option<u32>);

/// All resolved call addresses of a recording.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Symbols {
    /// Names of functions and files.
    pub strings: Vec<String>,
    /// Function, file, line number.
    pub frames: Vec<PackedFrame>,
    /// By file.
    pub modules: Vec<ModuleSymbols>,
    /// For code outside all files (made at run time): image, address, frame.
    pub generated: Vec<(ImageNo, u64, u32)>,
    /// Sizes of types that containers in the chains are made of, as each file has them: index into
    /// [`Symbols::modules`], name as an index into [`Symbols::strings`], bytes.
    pub type_sizes: Vec<(u32, u32, u64)>,
    /// Frames of functions whose callers are of more interest, such as a copy constructor that the compiler wrote: indices
    /// into [`Symbols::frames`], increasing.
    pub implicit: Vec<u32>,
}

impl ModuleSymbols {
    /// The first address of the function around the address with this index, if nothing names that function. `symbols` is what the
    /// module is a part of.
    pub fn unnamed_at(&self, symbols: &Symbols, index: usize) -> Option<u64> {
        let [only] = self.chains.get(index)?[..] else { return None };
        let &(function, None, _) = symbols.frames.get(only as usize)? else { return None };
        let name = symbols.strings.get(function as usize)?.strip_prefix(file_name(&self.path))?;
        let start = u64::from_str_radix(name.strip_prefix("+0x")?, 16).ok()?;
        (start <= *self.addresses.get(index)?).then_some(start)
    }
}

impl Symbols {
    /// As a payload.
    pub fn encode(&self) -> Vec<u8> {
        packed::encode(self)
    }

    pub fn decode(payload: &[u8]) -> Result<Symbols, Damage> {
        let symbols = packed::decode(payload)?;
        let strings = symbols.strings.len();
        let good_frame = |&(function, file, _): &PackedFrame| {
            (function as usize) < strings && file.is_none_or(|file| (file as usize) < strings)
        };
        let good_index = |&frame: &u32| (frame as usize) < symbols.frames.len();
        let consistent = symbols.frames.iter().all(good_frame)
            && symbols.modules.iter().all(|module| {
                module.addresses.len() == module.chains.len()
                    && module.chains.iter().all(|chain| chain.iter().all(good_index))
            })
            && symbols.generated.iter().all(|(_, _, frame)| good_index(frame))
            && symbols.implicit.iter().all(good_index)
            && symbols
                .type_sizes
                .iter()
                .all(|&(module, name, _)| (module as usize) < symbols.modules.len() && (name as usize) < strings);
        if consistent { Ok(symbols) } else { Err(Damage::Value("the symbols refer to entries that are not there")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols() -> Symbols {
        let module = ModuleSymbols {
            path: "/bin/a".into(),
            build_id: "0a1b".into(),
            source: NameSource::DebugInfo,
            problem: Some("a part of it is missing".into()),
            addresses: vec![100, 102, 1 << 40],
            chains: vec![vec![0, 1], vec![], vec![1]],
        };
        let image = |number| ImageNo::new(number).unwrap();
        Symbols {
            strings: vec!["main".into(), "".into(), "größer.c".into()],
            frames: vec![(0, Some(2), Some(12)), (1, None, None)],
            modules: vec![module, ModuleSymbols::default()],
            generated: vec![(image(1), u64::MAX, 0), (image(2), 5, 1)],
            type_sizes: vec![(0, 1, 16), (1, 0, 1 << 33)],
            implicit: vec![0],
        }
    }

    #[test]
    fn files_of_one_path_are_told_apart() {
        let second = with_version("/opt/plug in.so", "build 0a1b2c3d");
        assert_eq!((path_of(&second), version_of(&second)), ("/opt/plug in.so", Some("build 0a1b2c3d")));
        assert_eq!(unnamed(&second, 16), "plug in.so+0x10");
        let names = [("/a.so (version 2)", "/a.so"), ("/a.so (deleted)", "/a.so"), ("/a (build me)", "/a (build me)")];
        for (path, plain) in names {
            assert_eq!(path_of(path), plain);
        }
        assert_eq!(version_of("/a.so (deleted)"), None);
        assert_eq!(version_of("/a (1)/b.so"), None);
    }

    #[test]
    fn symbols_come_back_and_are_checked() {
        assert_eq!(Symbols::decode(&symbols().encode()).unwrap(), symbols());
        assert_eq!(Symbols::decode(&Symbols::default().encode()).unwrap(), Symbols::default());
        for wrong in [(2, 1, 16), (0, 3, 16)] {
            let damaged = Symbols { type_sizes: vec![wrong], ..symbols() };
            assert!(Symbols::decode(&damaged.encode()).is_err());
        }
        let damaged = Symbols { implicit: vec![2], ..symbols() };
        assert!(Symbols::decode(&damaged.encode()).is_err());
        let mut damaged = symbols();
        damaged.modules[0].chains[0][0] = 2;
        assert!(Symbols::decode(&damaged.encode()).is_err());
    }

    #[test]
    fn symbols_that_end_early_are_damage() {
        let plain = crate::decompress(&symbols().encode(), 1000).unwrap();
        for cut in 0..plain.len() {
            assert!(Symbols::decode(&crate::compress(&plain[..cut])).is_err(), "{cut}");
        }
    }

    #[test]
    fn more_names_than_memory_has_room_for_are_damage() {
        let mut plain = Vec::new();
        crate::bytes::put_varint(&mut plain, 1 << 25);
        plain.resize(2 << 25, 0);
        assert_eq!(Symbols::decode(&crate::compress(&plain)), Err(Damage::Value("more names than a recording has")));
    }
}
