//! The memory of another process, which the kernel lets its debugger read and write, code included.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

pub struct ProcessMemory(File);

impl ProcessMemory {
    pub fn open(pid: u32) -> io::Result<ProcessMemory> {
        OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem")).map(ProcessMemory)
    }

    pub fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(bytes, address)
    }

    /// As much as there is, from `address` on.
    pub fn read_some(&self, address: u64, bytes: &mut [u8]) -> usize {
        self.0.read_at(bytes, address).unwrap_or(0)
    }

    pub fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, address)
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
