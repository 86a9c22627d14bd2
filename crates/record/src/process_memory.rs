//! The memory of another process, which the kernel lets its debugger read and write, code included.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

pub struct ProcessMemory {
    pid: u32,
    file: File,
}

/// Where to read in another process.
pub fn part(address: u64, bytes: usize) -> libc::iovec {
    libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes }
}

/// Reads parts of a process's memory that it may read itself, one behind the other.
pub fn read_parts(pid: u32, bytes: &mut [u8], from: &[libc::iovec]) -> io::Result<usize> {
    let into = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let (pid, count) = (pid as libc::pid_t, from.len() as libc::c_ulong);
    // SAFETY: the local vector is `bytes`; the kernel checks the other process's addresses.
    match unsafe { libc::process_vm_readv(pid, &raw const into, 1, from.as_ptr(), count, 0) } {
        -1 => Err(io::Error::last_os_error()),
        count => Ok(count as usize),
    }
}

impl ProcessMemory {
    pub fn open(pid: u32) -> io::Result<ProcessMemory> {
        let file = OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
        Ok(ProcessMemory { pid, file })
    }

    pub fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, address)
    }

    /// As much as there is, from `address` on.
    pub fn read_some(&self, address: u64, bytes: &mut [u8]) -> usize {
        // The file has also what the process may not read, but takes half as long again.
        let count = read_parts(self.pid, bytes, &[part(address, bytes.len())]).unwrap_or(0);
        match &mut bytes[count..] {
            [] => count,
            rest => count + self.file.read_at(rest, address + count as u64).unwrap_or(0),
        }
    }

    pub fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, address)
    }

    pub fn word(&self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// A text that ends with a null, up to some length.
    pub fn text(&self, address: u64) -> String {
        let mut bytes = [0; 512];
        let count = self.read_some(address, &mut bytes);
        let text = bytes[..count].split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mprotect};

    #[test]
    fn what_a_process_may_not_read_is_read_up_to_what_is_not_there() {
        const PAGE: usize = 4096;
        // The third page lies behind the end of the file. A hole would not stay one: other tests map memory, too.
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[[1; PAGE], [2; PAGE]].concat(), 0).unwrap();
        // SAFETY: a mapping of its own, which nothing else refers to.
        let start = unsafe {
            let start = mmap(std::ptr::null_mut(), 3 * PAGE, ProtFlags::READ, MapFlags::PRIVATE, &file, 0).unwrap();
            mprotect(start.wrapping_byte_add(PAGE), PAGE, MprotectFlags::empty()).unwrap();
            start
        };
        let memory = ProcessMemory::open(std::process::id()).unwrap();
        let mut bytes = vec![0; 3 * PAGE];
        assert_eq!(memory.read_some(start as u64, &mut bytes), 2 * PAGE);
        assert_eq!((bytes[0], bytes[PAGE], bytes[2 * PAGE]), (1, 2, 0));
    }
}
