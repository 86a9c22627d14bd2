//! Memory of another process, as it was at one instant.

use crate::process_memory::{part, read_parts};
use std::io;

/// Larger pieces are read by several threads.
const PIECE: usize = 8 << 20;
/// That many.
const READERS: usize = 4;

/// Pieces of a process's memory.
pub struct Copy {
    pid: u32,
    /// In the order of their starts.
    pieces: Vec<Piece>,
    /// Memory from an earlier copy, which need not be got from the system again while a process waits.
    spare: Vec<Vec<u8>>,
}

struct Piece {
    start: u64,
    bytes: Vec<u8>,
}

/// Reads all of it.
fn read_piece(pid: u32, start: u64, bytes: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        let left = bytes.len() - done;
        match read_parts(pid, &mut bytes[done..], &[part(start + done as u64, left)])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => done += count,
        }
    }
    Ok(())
}

impl Copy {
    pub fn of(pid: u32) -> Copy {
        Copy { pid, pieces: Vec::new(), spare: Vec::new() }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Forgets all pieces.
    pub fn begin(&mut self) {
        let all = self.pieces.drain(..).map(|piece| piece.bytes);
        self.spare.extend(all);
    }

    fn buffer(&mut self, bytes: usize) -> Vec<u8> {
        let fits = |spare: &Vec<u8>| spare.capacity() >= bytes && spare.capacity() / 4 <= bytes.max(4096);
        let found = self.spare.iter().position(fits).map(|at| self.spare.swap_remove(at));
        // An earlier copy's bytes are as good as zeroes.
        let mut buffer = found.unwrap_or_else(|| Vec::with_capacity(bytes + bytes / 8));
        buffer.resize(bytes, 0);
        buffer
    }

    /// Adds a piece. False: it is not mapped.
    pub fn add(&mut self, start: u64, bytes: u64) -> bool {
        let Ok(length) = usize::try_from(bytes) else { return false };
        let mut buffer = self.buffer(length);
        let pid = self.pid;
        let read = if length <= PIECE {
            read_piece(pid, start, &mut buffer)
        } else {
            let each = length.div_ceil(READERS).next_multiple_of(4096);
            std::thread::scope(|scope| {
                let parts = buffer.chunks_mut(each).enumerate();
                let readers: Vec<_> = parts
                    .map(|(index, part)| scope.spawn(move || read_piece(pid, start + (index * each) as u64, part)))
                    .collect();
                readers
                    .into_iter()
                    .try_for_each(|reader| reader.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())))
            })
        };
        if read.is_err() {
            self.spare.push(buffer);
            return false;
        }
        let at = self.pieces.partition_point(|piece| piece.start <= start);
        self.pieces.insert(at, Piece { start, bytes: buffer });
        true
    }

    /// Adds as much as there is below an address, up to `most` bytes.
    pub fn add_below(&mut self, end: u64, most: u64) {
        const PAGE: u64 = 4096;
        // The word at the address itself, too.
        let mut start = end & !(PAGE - 1);
        let last = end + 8;
        let lowest = end.saturating_sub(most);
        if self.add(lowest, last - lowest) || !self.add(start, last - start) {
            return;
        }
        while start > lowest {
            if !self.add(start - PAGE, PAGE) {
                return;
            }
            start -= PAGE;
        }
    }

    /// Words of the process as it is now, one at each of these addresses. What is not mapped is left out.
    pub fn words_now(&self, addresses: &[u64]) -> Vec<(u64, u64)> {
        const AT_A_TIME: usize = 1024; // UIO_MAXIOV
        let mut found = Vec::new();
        let mut left = addresses;
        while !left.is_empty() {
            let now = &left[..left.len().min(AT_A_TIME)];
            let from: Vec<libc::iovec> = now.iter().map(|address| part(*address, 8)).collect();
            let mut bytes = vec![0; now.len() * 8];
            let count = read_parts(self.pid, &mut bytes, &from).unwrap_or(0) / 8;
            let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
            found.extend(now[..count].iter().copied().zip(words));
            let is_cut = count < now.len();
            left = &left[count + usize::from(is_cut)..];
        }
        found
    }

    /// The copied bytes from an address to the end of their piece.
    pub fn from(&self, address: u64) -> Option<&[u8]> {
        // Pieces may overlap.
        const LOOKED_AT: usize = 4;
        let behind = self.pieces.partition_point(|piece| piece.start <= address);
        let near = self.pieces[..behind].iter().rev().take(LOOKED_AT);
        let rest = near.filter_map(|piece| piece.bytes.get((address - piece.start) as usize..));
        rest.max_by_key(|rest| rest.len()).filter(|rest| !rest.is_empty())
    }

    pub fn word(&self, address: u64) -> Option<u64> {
        word_of(self.from(address)?, 0)
    }
}

/// The word at this place.
pub fn word_of(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
