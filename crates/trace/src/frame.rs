//! How a file is cut into blocks.
//!
//! ```text
//! file    signature (16 bytes), then blocks until the end
//!
//! signature  "\x89memtoll\r\n"  major u16  minor u16  0 u16       little endian, as everything
//!
//! block   offset 0   magic     u32   MAGIC: where to look for the next block after damage
//!                4   kind      u8    BlockKind
//!                5   0         u8[3]
//!                8   image     u32   the process image it belongs to, 0 for the whole recording
//!               12   length    u32   payload, bytes
//!               16   check     u32   CRC-32 of bytes 4..16 and of the payload
//!               20   payload
//! ```

use crate::ids::ImageNo;

/// First bytes of every recording.
pub const SIGNATURE: &[u8; 10] = b"\x89memtoll\r\n";
/// Bytes of the signature with the version behind it.
pub const SIGNATURE_BYTES: usize = 16;
/// Readers refuse files of another major version.
pub const MAJOR: u16 = 5;
/// Grows with additions that older readers can skip.
pub const MINOR: u16 = 0;
/// "MTBK"
pub const MAGIC: u32 = u32::from_le_bytes(*b"MTBK");
/// Bytes before a payload.
pub const HEADER_BYTES: usize = 20;
/// Longest payload, bytes. A longer one is damage.
pub const MAX_PAYLOAD: usize = 256 << 20;

/// What a block's payload is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum BlockKind {
    /// JSON, [`crate::meta::Recording`]. The first block.
    Recording,
    /// JSON, [`crate::meta::Image`]: a process image begins.
    Image,
    /// JSON, list of [`crate::meta::Module`].
    Modules,
    /// JSON, list of [`crate::meta::Thread`]. A later entry of the same number replaces an earlier one.
    Threads,
    /// [`crate::nodes`]
    Nodes,
    /// [`crate::events`]
    Events,
    /// JSON, list of [`crate::meta::Mark`].
    Marks,
    /// [`crate::summary`]
    Summary,
    /// JSON, [`crate::meta::ImageEnd`].
    ImageEnd,
    /// [`crate::symbols::Symbols`]
    Symbols,
    /// JSON, [`crate::meta::Note`]
    Note,
    /// JSON, [`crate::meta::End`]. The last block but for the index; a file without it was cut off.
    End,
    /// [`crate::costs`]
    Costs,
    /// [`crate::nodes`] without callers, whose ids are 8 and more with the indices of code addresses: code that paid for
    /// a cost.
    Places,
    /// JSON, list of [`crate::meta::Pool`]: the program's own pools, at the end of an image.
    Pools,
    /// [`crate::index`]: what blocks the file has. It comes behind the end.
    Index,
    /// [`crate::inherited`]
    Inherited,
    /// JSON, [`crate::meta::Calibration`]: what the program takes without the recorder.
    Calibration,
    /// [`crate::chapter`]: what the events blocks since the image's last such block add up to.
    Chapter,
    /// [`crate::pattern`]: how call sites used memory since the image's last such block.
    Patterns,
    /// [`crate::timeline`]: what happened when since the image's last such block.
    Timeline,
    /// [`crate::parts`]: how the sums of the image's last chapter divide among threads and sizes.
    Parts,
    /// JSON, list of [`crate::meta::Verified`]: what changes saved that were measured since.
    Verified,
    /// JSON, [`crate::meta::OwnAllocators`]: what hides calls of an image. A later block replaces an earlier one of the same
    /// image.
    OwnAllocators,
    /// [`crate::snapshot`]: which pages of an image were in memory at an instant.
    Snapshot,
    /// JSON, [`crate::meta::Attached`]: the process was running before it was recorded. A later block replaces an earlier one of
    /// the same image.
    Attached,
    /// [`crate::meta::variables`]: of the files in images whose pages were looked at.
    Variables,
    /// JSON, list of [`crate::meta::Module`], of number 0: what an image has loaded without any call of it being recorded.
    MappedFiles,
    /// Something that a later minor version added.
    Unknown(u8),
}

const KINDS: [BlockKind; 28] = [
    BlockKind::Recording,
    BlockKind::Image,
    BlockKind::Modules,
    BlockKind::Threads,
    BlockKind::Nodes,
    BlockKind::Events,
    BlockKind::Marks,
    BlockKind::Summary,
    BlockKind::ImageEnd,
    BlockKind::Symbols,
    BlockKind::Note,
    BlockKind::End,
    BlockKind::Costs,
    BlockKind::Places,
    BlockKind::Pools,
    BlockKind::Index,
    BlockKind::Inherited,
    BlockKind::Calibration,
    BlockKind::Chapter,
    BlockKind::Patterns,
    BlockKind::Timeline,
    BlockKind::Parts,
    BlockKind::Verified,
    BlockKind::OwnAllocators,
    BlockKind::Snapshot,
    BlockKind::Attached,
    BlockKind::Variables,
    BlockKind::MappedFiles,
];

impl BlockKind {
    /// The number in the file: 1, 2 …
    pub fn number(self) -> u8 {
        match self {
            BlockKind::Unknown(number) => number,
            known => KINDS.iter().position(|kind| *kind == known).map_or(0, |at| at as u8 + 1),
        }
    }

    pub fn from_number(number: u8) -> BlockKind {
        let index = (number as usize).wrapping_sub(1);
        KINDS.get(index).copied().unwrap_or(BlockKind::Unknown(number))
    }
}

/// The signature of a file that this version writes.
pub fn signature() -> [u8; SIGNATURE_BYTES] {
    let mut bytes = [0; SIGNATURE_BYTES];
    bytes[..10].copy_from_slice(SIGNATURE);
    bytes[10..12].copy_from_slice(&MAJOR.to_le_bytes());
    bytes[12..14].copy_from_slice(&MINOR.to_le_bytes());
    bytes
}

/// A block's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// What the payload is.
    pub kind: BlockKind,
    /// The process image it belongs to; `None`: the whole recording.
    pub image: Option<ImageNo>,
    /// Length of the payload, bytes.
    pub length: u32,
    /// CRC-32 of the header's middle and the payload.
    pub check: u32,
}

impl Header {
    pub fn of(kind: BlockKind, image: Option<ImageNo>, payload: &[u8]) -> Header {
        let mut header = Header { kind, image, length: payload.len() as u32, check: 0 };
        header.check = header.checksum(payload);
        header
    }

    /// What `check` must be if `payload` is undamaged.
    pub fn checksum(&self, payload: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.bytes()[4..16]);
        hasher.update(payload);
        hasher.finalize()
    }

    /// The header as it stands in the file.
    pub fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4] = self.kind.number();
        bytes[8..12].copy_from_slice(&ImageNo::or_zero(self.image).to_le_bytes());
        bytes[12..16].copy_from_slice(&self.length.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.check.to_le_bytes());
        bytes
    }

    /// Reads a header; `None` if it cannot be one.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Option<Header> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (kind, image) = (BlockKind::from_number(bytes[4]), ImageNo::new(word(8)));
        let header = Header { kind, image, length: word(12), check: word(16) };
        let plausible = word(0) == MAGIC && bytes[5..8] == [0; 3] && header.length as usize <= MAX_PAYLOAD;
        plausible.then_some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back() {
        let header = Header::of(BlockKind::Events, ImageNo::new(7), b"payload");
        assert_eq!(Header::parse(&header.bytes()), Some(header));
        assert_eq!(header.checksum(b"payload"), header.check);
        assert_ne!(header.checksum(b"Payload"), header.check);
        let mut damaged = header.bytes();
        damaged[0] ^= 1;
        assert_eq!(Header::parse(&damaged), None);
    }

    #[test]
    fn kinds_have_numbers() {
        for number in 0..=255 {
            assert_eq!(BlockKind::from_number(number).number(), number);
        }
        assert_eq!(BlockKind::Recording.number(), 1);
    }
}
