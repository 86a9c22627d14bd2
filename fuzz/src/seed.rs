//! Recordings in a form in which they can be changed: blocks, with payloads unpacked.

use memtoll_trace::bytes::{Unread, put_varint};
use memtoll_trace::frame::{BlockKind, HEADER_BYTES, Header, SIGNATURE_BYTES};
use memtoll_trace::ids::ImageNo;
use memtoll_trace::symbols::Symbols;
use std::path::Path;

/// Columns of an events block.
const COLUMNS: usize = 11;
/// Varints before them.
const NUMBERS: usize = 5;
/// No payload of a golden recording unpacks to more, bytes.
const MAX_PAYLOAD: usize = 16 << 20;

/// A block of a recording.
#[derive(Clone)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// The image it belongs to.
    pub image: Option<ImageNo>,
    /// Payload, without compression.
    pub plain: Vec<u8>,
}

/// A recording to damage.
#[derive(Clone)]
pub struct Seed {
    /// Its blocks.
    pub blocks: Vec<Block>,
}

/// The golden recordings, with paths and build ids replaced by ones that do not exist.
pub fn seeds() -> Vec<Seed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../format/golden");
    let read = |name: &str| {
        let file = std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        Seed::new(&file).unwrap_or_else(|| panic!("{name} is not a recording"))
    };
    ["tiny.memtoll", "forks.memtoll", "costs.memtoll", "killed.memtoll"].map(read).into()
}

fn is_zstd(kind: BlockKind) -> bool {
    use BlockKind::*;
    matches!(kind, Nodes | Summary | Symbols | Costs | Places | Inherited | Chapter | Patterns | Timeline | Parts)
}

fn is_json(kind: BlockKind) -> bool {
    !is_zstd(kind) && kind != BlockKind::Events
}

/// JSON whose paths and build ids are those of no file.
fn anonymous(json: Vec<u8>) -> Option<Vec<u8>> {
    let text = String::from_utf8(json).ok()?;
    let text = text.replace("\"/", "\"/nowhere/").replace("\"build_id\":\"", "\"build_id\":\"00");
    Some(text.into_bytes())
}

/// A payload of symbols whose paths and build ids are those of no file.
fn anonymous_symbols(payload: &[u8]) -> Option<Vec<u8>> {
    let mut symbols = Symbols::decode(payload).ok()?;
    for module in &mut symbols.modules {
        module.path.insert_str(0, "/nowhere");
        module.build_id.insert_str(0, "00");
    }
    Some(symbols.encode())
}

impl Seed {
    fn new(file: &[u8]) -> Option<Seed> {
        let mut blocks = Vec::new();
        let mut at = SIGNATURE_BYTES;
        while let Some(header) = file.get(at..at + HEADER_BYTES) {
            let header = Header::parse(header.try_into().ok()?)?;
            at += HEADER_BYTES;
            let payload = file.get(at..at + header.length as usize)?;
            at += payload.len();
            let unpacked = |payload: &[u8]| zstd::bulk::decompress(payload, MAX_PAYLOAD).ok();
            let plain = match header.kind {
                // Other payloads, other places and checksums: no reader would use it.
                BlockKind::Index => continue,
                BlockKind::Events => raw_columns(payload)?,
                BlockKind::Symbols => unpacked(&anonymous_symbols(payload)?)?,
                kind if is_zstd(kind) => unpacked(payload)?,
                _ => payload.to_vec(),
            };
            let plain = if is_json(header.kind) { anonymous(plain)? } else { plain };
            blocks.push(Block { kind: header.kind, image: header.image, plain });
        }
        Some(Seed { blocks })
    }

    /// The recording as a file, with right checksums.
    pub fn file(&self) -> Vec<u8> {
        let mut file = memtoll_trace::frame::signature().to_vec();
        for block in &self.blocks {
            let packed = if is_zstd(block.kind) { zstd::bulk::compress(&block.plain, 1).ok() } else { None };
            let payload = packed.as_ref().unwrap_or(&block.plain);
            file.extend_from_slice(&Header::of(block.kind, block.image, payload).bytes());
            file.extend_from_slice(payload);
        }
        file
    }
}

/// An events payload whose columns are all stored as they are.
fn raw_columns(payload: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Unread::new(payload);
    let mut plain = Vec::new();
    for _ in 0..NUMBERS {
        put_varint(&mut plain, bytes.varint().ok()?);
    }
    for _ in 0..COLUMNS {
        let length = bytes.varint().ok()? as usize;
        let stored = u32::from_le_bytes(bytes.take(4).ok()?.try_into().ok()?) as usize;
        let stored = bytes.take(stored).ok()?;
        put_varint(&mut plain, length as u64);
        plain.extend_from_slice(&(length as u32).to_le_bytes());
        match stored.len() == length {
            true => plain.extend_from_slice(stored),
            false => plain.extend(zstd::bulk::decompress(stored, length).ok()?),
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacked_recordings_are_still_whole() {
        for seed in seeds() {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), seed.file()).unwrap();
            let recording = memtoll_model::Recording::open(file.path()).unwrap();
            let is_cut_off = seed.blocks.last().map(|block| block.kind) != Some(BlockKind::End);
            assert_eq!(recording.damage.len(), is_cut_off as usize);
            let (mut events, mut costs) = (0, 0);
            for image in 0..recording.images.len() {
                let take = |part: &[_]| {
                    events += part.len() as u64;
                    std::ops::ControlFlow::Continue(())
                };
                recording.for_each_events(image, take).unwrap();
                recording.for_each_cost(image, |_| costs += 1).unwrap();
            }
            let has_costs = seed.blocks.iter().any(|block| block.kind == BlockKind::Costs);
            assert_eq!(costs > 0, has_costs);
            assert_eq!(events, recording.end.map_or(42_000, |end| end.events));
        }
    }
}
