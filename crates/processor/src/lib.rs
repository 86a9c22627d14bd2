//! What depends on the processor, for all crates. Its counterpart in C++ is `recorder/src/arch`.
//!
//! A port is one more file beside `x86_64.rs` (and a folder of its name), with a `PROCESSOR` and, for programs on that processor, the functions
//! `counter` and `prefetch`; and its lines here: the module, `ALL` and what is used on that processor.
//!
//! Sizes of pages are asked of the kernel.

mod redirect;
mod x86_64;

pub use object::Architecture;
use object::elf::Machine;
pub use redirect::{Function, Redirection, Refusal};

#[cfg(target_arch = "x86_64")]
pub use x86_64::{PROCESSOR as HERE, counter, injection, prefetch};

#[cfg(not(target_arch = "x86_64"))]
compile_error!("memtoll does not know this processor; src/lib.rs of memtoll-processor says what a port provides");

/// All processors whose files can be read, wherever this runs.
const ALL: [&Processor; 1] = [&x86_64::PROCESSOR];

/// Facts about a processor and its programs on Linux.
pub struct Processor {
    /// Its name, for people.
    pub name: &'static str,
    /// Its number in ELF files.
    pub elf_machine: Machine,
    /// The same, as the reader of ELF files says it.
    pub architecture: Architecture,
    /// Where programs look for glibc's loader.
    pub loader: &'static str,
    /// Where programs look for musl's loader, which is the C library, too.
    pub musl_loader: &'static str,
    /// Debian's folder for its libraries, below `/usr/lib`.
    pub library_folder: &'static str,
    /// How the names of Valgrind's programs end.
    pub valgrind: &'static str,
    /// How `/proc/cpuinfo` describes it.
    pub description: Description,
    /// What the kernel shows of a thread that it samples.
    pub samples: Samples,
    /// Reads the call that ends where the code returns to.
    pub call_before: fn(&Code<'_>, u64) -> Option<Called>,
    /// Reads a stub of the procedure linkage table: the slot through which it jumps.
    pub stub_at: fn(&Code<'_>, u64) -> Option<u64>,
    /// Finds the direct calls of and jumps to an address in code: `calls_of(code, where it is, address)`. Data among the code may
    /// look like one by chance.
    pub calls_of: fn(&[u8], u64, u64) -> Vec<u64>,
    /// The constant that a function returns which does nothing else: `constant_returned(code, where it is)`.
    pub constant_returned: fn(&[u8], u64) -> Option<u64>,
    /// Makes the code that leads calls of a function to a hook.
    pub redirect: fn(&Function<'_>) -> Result<Redirection, Refusal>,
}

/// The processor's part of `/proc/cpuinfo`.
pub struct Description {
    /// Field with the model's name.
    pub model: &'static str,
    /// Field with a list of features.
    pub features: &'static str,
    /// Features of a processor whose counter goes on at the same rate in all states of all cores. None: there is no counter
    /// that a program may read.
    pub steady_counter: Option<&'static [&'static str]>,
}

/// What samples of a thread's registers and stack tell. Registers have the kernel's numbers (`asm/perf_regs.h`).
pub struct Samples {
    /// A function that calls nothing has the place to which it returns on top of its stack.
    pub returns_to_top: bool,
    /// Registers that tell where the program entered the kernel, and why.
    pub entry: Option<Entry>,
}

/// Where the program entered the kernel, and why.
pub struct Entry {
    /// The register with the code address where the program goes on.
    pub address: u64,
    /// A register, and what the kernel keeps in it during a system call until there is a result.
    pub in_call: (u64, u64),
}

impl Entry {
    /// Of a sample inside the kernel: whether that is at work on a system call. `register` knows the values of registers.
    pub fn is_call(&self, register: impl Fn(u64) -> Option<u64>) -> bool {
        let (number, value) = self.in_call;
        register(number).is_none_or(|found| found == value)
    }
}

/// Bytes of a file's code: `code(address, count)`.
pub type Code<'a> = dyn Fn(u64, u64) -> Option<&'a [u8]> + 'a;

/// Where a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    /// To an address.
    Address(u64),
    /// To what the loader has put into a slot.
    Slot(u64),
}

/// The processor that a file is for, if it is one of those known here.
pub fn of(architecture: Architecture) -> Option<&'static Processor> {
    ALL.into_iter().find(|processor| processor.architecture == architecture)
}

impl Processor {
    /// The file name of glibc's loader.
    pub fn loader_name(&self) -> &'static str {
        file_name(self.loader)
    }

    /// The file name of musl's loader.
    pub fn musl_loader_name(&self) -> &'static str {
        file_name(self.musl_loader)
    }

    /// The folders in which distributions keep its libraries, and the user their own.
    pub fn library_folders(&self) -> [String; 5] {
        let folder = self.library_folder;
        [
            "/usr/local/lib".into(),
            format!("/usr/lib/{folder}"),
            "/usr/lib64".into(),
            "/usr/lib".into(),
            format!("/lib/{folder}"),
        ]
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_processor_is_among_all() {
        assert!(ALL.iter().any(|processor| processor.architecture == HERE.architecture));
        assert!(std::path::Path::new(HERE.loader).exists(), "{}", HERE.loader);
        assert!(of(HERE.architecture).is_some_and(|found| found.elf_machine == HERE.elf_machine));
    }

    #[test]
    fn time_passes() {
        let before = counter();
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(HERE.description.steady_counter.is_none() || counter() > before);
        prefetch(&raw const before);
    }
}
