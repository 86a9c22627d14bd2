//! [`Symbols`] as columns of variable-length integers.
//!
//! ```text
//! zstd | strings       number  lengths  all bytes
//!        frames        number  functions  files + 1 (0: none)  lines + 1 (0: none)
//!        modules       number, and for each: path  build id  source  problem
//!                      number of addresses  addresses  lengths of chains  frames of chains
//!        generated     number  images  addresses  frames
//!        sizes         number  modules  names  bytes
//!        implicit      number  frames
//! ```
//!
//! Addresses and implicit frames stand as their distances from the one before, functions, files, lines and frames of chains
//! as well, zigzag. A text is its length and its bytes, a problem its length + 1 (0: none) and its bytes.

use super::{MAX_BYTES, ModuleSymbols, NameSource, PackedFrame, Symbols};
use crate::Damage;
use crate::bytes::{Unread, put_varint, unzigzag, zigzag};
use crate::ids::ImageNo;

/// Entries of a list: unpacked, they take many times their bytes, and a damaged file may claim as many as it likes.
const MOST: u64 = 1 << 24;
const SOURCES: [NameSource; 5] = [
    NameSource::Nothing,
    NameSource::Exported,
    NameSource::Symbols,
    NameSource::PartOfDebugInfo,
    NameSource::DebugInfo,
];

/// As a payload.
pub(super) fn encode(symbols: &Symbols) -> Vec<u8> {
    let Symbols { strings, frames, modules, generated, type_sizes, implicit } = symbols;
    let mut plain = Vec::new();
    let out = &mut plain;
    put_varint(out, strings.len() as u64);
    strings.iter().for_each(|text| put_varint(out, text.len() as u64));
    strings.iter().for_each(|text| out.extend_from_slice(text.as_bytes()));
    put_varint(out, frames.len() as u64);
    let or_zero = |value: Option<u32>| value.map_or(0, |value| u64::from(value) + 1);
    put_signed(out, frames.iter().map(|(function, ..)| u64::from(*function)));
    put_signed(out, frames.iter().map(|(_, file, _)| or_zero(*file)));
    put_signed(out, frames.iter().map(|(.., line)| or_zero(*line)));
    put_varint(out, modules.len() as u64);
    for ModuleSymbols { path, build_id, source, problem, addresses, chains } in modules {
        put_text(out, path, 0);
        put_text(out, build_id, 0);
        out.push(SOURCES.iter().position(|known| known == source).unwrap_or(0) as u8);
        match problem {
            Some(problem) => put_text(out, problem, 1),
            None => out.push(0),
        }
        put_varint(out, addresses.len() as u64);
        put_increasing(out, addresses.iter().copied());
        chains.iter().for_each(|chain| put_varint(out, chain.len() as u64));
        put_signed(out, chains.iter().flatten().map(|frame| u64::from(*frame)));
    }
    put_varint(out, generated.len() as u64);
    generated.iter().for_each(|(image, ..)| put_varint(out, u64::from(image.get())));
    generated.iter().for_each(|(_, address, _)| put_varint(out, *address));
    generated.iter().for_each(|(.., frame)| put_varint(out, u64::from(*frame)));
    put_varint(out, type_sizes.len() as u64);
    type_sizes.iter().for_each(|(module, ..)| put_varint(out, u64::from(*module)));
    type_sizes.iter().for_each(|(_, name, _)| put_varint(out, u64::from(*name)));
    type_sizes.iter().for_each(|(.., size)| put_varint(out, *size));
    put_varint(out, implicit.len() as u64);
    put_increasing(out, implicit.iter().map(|frame| u64::from(*frame)));
    crate::compress(&plain)
}

fn put_text(out: &mut Vec<u8>, text: &str, more: u64) {
    put_varint(out, text.len() as u64 + more);
    out.extend_from_slice(text.as_bytes());
}

fn put_increasing(out: &mut Vec<u8>, values: impl Iterator<Item = u64>) {
    let mut before = 0;
    for value in values {
        put_varint(out, value.wrapping_sub(before));
        before = value;
    }
}

fn put_signed(out: &mut Vec<u8>, values: impl Iterator<Item = u64>) {
    let mut before = 0;
    for value in values {
        put_varint(out, zigzag(value.wrapping_sub(before) as i64));
        before = value;
    }
}

/// From a payload. Indices may lead nowhere.
pub(super) fn decode(payload: &[u8]) -> Result<Symbols, Damage> {
    let plain = crate::decompress(payload, MAX_BYTES)?;
    let mut bytes = Unread::new(&plain);
    let from = &mut bytes;
    let strings = strings(from)?;
    let frames = frames(from)?;
    let mut modules = Vec::new();
    let mut addresses = 0;
    for _ in 0..count(from, 5)? {
        let module = module(from)?;
        addresses += module.addresses.len() as u64;
        if addresses > MOST {
            return Err(Damage::Value("more call addresses than a recording has"));
        }
        modules.push(module);
    }
    let number = count(from, 3)?;
    let (images, addresses, named) = (column32(from, number)?, column(from, number)?, column32(from, number)?);
    let generated = images.into_iter().zip(addresses).zip(named);
    let generated = generated.map(|((image, at), frame)| Ok((ImageNo::somebody(image)?, at, frame)));
    let generated = generated.collect::<Result<_, Damage>>()?;
    let number = count(from, 3)?;
    let (files, names, sizes) = (column32(from, number)?, column32(from, number)?, column(from, number)?);
    let type_sizes = files.into_iter().zip(names).zip(sizes).map(|((file, name), size)| (file, name, size)).collect();
    let number = count(from, 1)?;
    let implicit = increasing(from, number)?.into_iter().map(to_u32).collect::<Result<Vec<u32>, Damage>>()?;
    Ok(Symbols { strings, frames, modules, generated, type_sizes, implicit })
}

/// A number of things that take at least `each` bytes.
fn count(from: &mut Unread, each: usize) -> Result<usize, Damage> {
    let count = from.varint()?;
    match count {
        _ if count > (from.remaining() / each) as u64 => Err(Damage::Short),
        _ if count > MOST => Err(Damage::Value("more names than a recording has")),
        _ => Ok(count as usize),
    }
}

fn to_u32(value: u64) -> Result<u32, Damage> {
    u32::try_from(value).map_err(|_| Damage::Value("an integer of more than 32 bits"))
}

fn column(from: &mut Unread, count: usize) -> Result<Vec<u64>, Damage> {
    (0..count).map(|_| from.varint()).collect()
}

fn column32(from: &mut Unread, count: usize) -> Result<Vec<u32>, Damage> {
    (0..count).map(|_| from.varint32()).collect()
}

fn increasing(from: &mut Unread, count: usize) -> Result<Vec<u64>, Damage> {
    let mut value = 0u64;
    let mut next = || {
        value = value.wrapping_add(from.varint()?);
        Ok(value)
    };
    (0..count).map(|_| next()).collect()
}

fn signed<T>(from: &mut Unread, count: usize, convert: impl Fn(u64) -> Result<T, Damage>) -> Result<Vec<T>, Damage> {
    let mut value = 0u64;
    let mut next = || {
        value = value.wrapping_add(unzigzag(from.varint()?) as u64);
        convert(value)
    };
    (0..count).map(|_| next()).collect()
}

fn utf8(bytes: &[u8]) -> Result<&str, Damage> {
    std::str::from_utf8(bytes).map_err(|_| Damage::Value("a text that is none"))
}

fn text(from: &mut Unread) -> Result<String, Damage> {
    let length = count(from, 1)?;
    Ok(utf8(from.take(length)?)?.to_owned())
}

fn strings(from: &mut Unread) -> Result<Vec<String>, Damage> {
    let number = count(from, 1)?;
    let lengths = column32(from, number)?;
    lengths.into_iter().map(|length| Ok(utf8(from.take(length as usize)?)?.to_owned())).collect()
}

fn frames(from: &mut Unread) -> Result<Vec<PackedFrame>, Damage> {
    let number = count(from, 3)?;
    let or_none = |value: u64| value.checked_sub(1).map(to_u32).transpose();
    let functions = signed(from, number, to_u32)?;
    let (files, lines) = (signed(from, number, or_none)?, signed(from, number, or_none)?);
    Ok(functions.into_iter().zip(files).zip(lines).map(|((function, file), line)| (function, file, line)).collect())
}

fn module(from: &mut Unread) -> Result<ModuleSymbols, Damage> {
    let (path, build_id) = (text(from)?, text(from)?);
    let source = SOURCES.get(usize::from(from.byte()?)).copied().ok_or(Damage::Value("names from nowhere known"))?;
    let problem = match from.varint()?.checked_sub(1) {
        Some(length) => Some(utf8(from.take(usize::try_from(length).map_err(|_| Damage::Short)?)?)?.to_owned()),
        None => None,
    };
    let number = count(from, 2)?;
    let addresses = increasing(from, number)?;
    let lengths = column32(from, number)?;
    let all = lengths.iter().fold(0u64, |sum, length| sum + u64::from(*length));
    if all > from.remaining() as u64 || all > MOST {
        return Err(Damage::Short);
    }
    let mut frames = signed(from, all as usize, to_u32)?.into_iter();
    let chains = lengths.into_iter().map(|length| frames.by_ref().take(length as usize).collect()).collect();
    Ok(ModuleSymbols { path, build_id, source, problem, addresses, chains })
}
