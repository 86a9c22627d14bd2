//! What /proc says of processes and of the machine.

use memtoll_trace::meta::{Exit, Machine, Usage};
use std::fs;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::Path;

/// A file of the kernel's, which does not say how long it is: `fs::read` asks for that, and then reads it in small pieces.
fn text(path: &str) -> String {
    let mut bytes = Vec::with_capacity(4096);
    let read = fs::File::open(path).and_then(|file| file.take(u64::MAX).read_to_end(&mut bytes));
    read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The command line of a process; its name in brackets if that cannot be read.
pub fn command(pid: u32) -> Vec<String> {
    let line = text(&format!("/proc/{pid}/cmdline"));
    let words: Vec<String> = line.split_terminator('\0').map(str::to_owned).collect();
    if words.is_empty() { vec![format!("[{}]", kernel_name(pid))] } else { words }
}

/// The name that the kernel has for a process: at first the file that was executed, cut off after 15 bytes; a process may give
/// itself another one.
pub fn kernel_name(pid: u32) -> String {
    text(&format!("/proc/{pid}/comm")).trim_end_matches('\n').to_owned()
}

/// Whether there is such a process, and it has not ended.
pub fn exists(pid: u32) -> bool {
    stat(pid).first().is_some_and(|state| state != "Z" && state != "X")
}

/// Whether a process does something of its own with SIGINT.
pub fn catches_interrupts(pid: rustix::process::Pid) -> bool {
    let status = text(&format!("/proc/{}/status", pid.as_raw_nonzero()));
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> 1 & 1 == 1)
}

/// The file that a process executes.
pub fn executable(pid: u32) -> String {
    fs::read_link(format!("/proc/{pid}/exe")).map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
}

/// What the kernel told a process of its memory when it executed its program; empty of one that has ended.
pub fn auxiliary_vector(pid: u32) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/auxv")).unwrap_or_default()
}

/// Fields of /proc/PID/stat from the third (state) on; the second may hold anything.
fn stat(pid: u32) -> Vec<String> {
    let line = text(&format!("/proc/{pid}/stat"));
    let behind_name = line.rfind(')').map_or("", |at| &line[at + 1..]);
    behind_name.split_whitespace().map(str::to_owned).collect()
}

/// When a process started, in the kernel's ticks since its boot. `None`: it is gone.
pub fn start_time(pid: u32) -> Option<u64> {
    stat(pid).get(19)?.parse().ok()
}

/// Whether a thread is stopped, by a signal or by a debugger.
pub fn is_stopped(pid: u32, tid: u32) -> bool {
    let stat = std::fs::read(format!("/proc/{pid}/task/{tid}/stat")).unwrap_or_default();
    // The state stands behind the name, which is in parentheses and may contain anything.
    let name_end = stat.iter().rposition(|byte| *byte == b')');
    name_end.and_then(|end| stat.get(end + 2)).is_some_and(|state| matches!(state, b'T' | b't'))
}

/// The parent of a process, of which `process` is a descriptor; 0 if it is gone.
pub fn parent(process: &impl AsRawFd, pid: u32) -> u32 {
    let told = info_of(process, PIDFD_INFO_PID).map(|info| info.ppid).filter(|parent| *parent != 0);
    told.or_else(|| stat(pid).get(1)?.parse().ok()).unwrap_or(0)
}

/// The kernel's `struct pidfd_info` (Linux 6.13; `exit_code` since 6.15), from linux/pidfd.h.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    pid: u32,
    tgid: u32,
    ppid: u32,
    user_and_group: [u32; 8],
    exit_code: i32,
}
const PIDFD_INFO_PID: u64 = 1 << 0;
const PIDFD_INFO_EXIT: u64 = 1 << 3;

/// What the kernel tells about the process of a descriptor; `None` if it does not tell what is `wanted`.
fn info_of(process: &impl AsRawFd, wanted: u64) -> Option<PidfdInfo> {
    const PIDFD_GET_INFO: u64 = 0xc000_ff0b | (size_of::<PidfdInfo>() as u64) << 16;
    let mut info = PidfdInfo { mask: wanted, ..PidfdInfo::default() };
    // SAFETY: the request's number carries the size of the structure that the kernel fills in.
    let result = unsafe { libc::ioctl(process.as_raw_fd(), PIDFD_GET_INFO, &mut info) };
    (result == 0 && info.mask & wanted != 0).then_some(info)
}

/// How a process ended: its descriptor knows even after its parent has waited for it. `None` from kernels before 6.15.
pub fn exit_of_descriptor(process: &impl AsRawFd) -> Option<Exit> {
    info_of(process, PIDFD_INFO_EXIT).map(|info| exit_of_status(info.exit_code))
}

/// How a process ended, while its parent has not waited for it yet.
pub fn exit_of_zombie(pid: u32) -> Option<Exit> {
    let fields = stat(pid);
    let state = fields.first()?;
    let status: i32 = fields.get(49)?.parse().ok()?;
    (state == "Z" || state == "X").then(|| exit_of_status(status))
}

/// What a wait status says.
pub fn exit_of_status(status: i32) -> Exit {
    match status & 0x7f {
        0 => Exit::Code(status >> 8 & 0xff),
        signal => Exit::Signal(signal),
    }
}

/// The resident set of a process, bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    pub now: u64,
    /// The largest one since it executed its program or was forked.
    pub largest: u64,
}

/// The resident set of a process that lives. Anybody may ask, and the process is not held up.
pub fn memory(pid: u32) -> Option<Memory> {
    let status = text(&format!("/proc/{pid}/status"));
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kib * 1024)
    };
    Some(Memory { now: bytes("VmRSS:")?, largest: bytes("VmHWM:")? })
}

/// The resident set of a process, bytes, as the kernel's counters say it: cheaper than [`memory`], and off by some pages for each
/// processor.
pub fn resident_set(pid: u32) -> Option<u64> {
    let pages: u64 = text(&format!("/proc/{pid}/statm")).split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page())
}

/// What the kernel counted for a process until now, or until its end if its parent has not waited for it yet. Switches are
/// only told of single threads, and not here.
pub fn counted(pid: u32) -> Option<Usage> {
    let fields = stat(pid);
    let number = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok());
    let (user, system) = (number(11)?, number(12)?); // in ticks of 10 ms
    let processor = processor_time(pid)?;
    let system_ns = match user + system {
        0 => 0,
        all => (u128::from(processor) * u128::from(system) / u128::from(all)) as u64,
    };
    Some(Usage {
        user_ns: processor - system_ns,
        system_ns,
        minor_faults: number(7)?,
        major_faults: number(9)?,
        ..Usage::default()
    })
}

/// Processor time of all threads of a process, those that ended too, ns.
fn processor_time(pid: u32) -> Option<u64> {
    const ALL_THREADS: libc::clockid_t = 2; // CPUCLOCK_SCHED, of a process
    let clock = (!(pid as libc::clockid_t) << 3) | ALL_THREADS;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a structure of the right kind.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    (result == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// What the kernel counted for the children that ended, and for theirs.
pub fn usage_of_children() -> Usage {
    // SAFETY: a structure of integers, which the call fills in.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a structure of the right kind.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    // The recorder's memory is in the largest resident set.
    Usage::counted(&usage)
}

/// What was counted for the children that ended, with those added that no parent waited for, and those that go on: perf's
/// counts comprise them. They say only how much time it was in all; what is more is taken for the program's own.
pub fn with_all(reaped: Usage, counted: &memtoll_kernel::Totals) -> Usage {
    Usage {
        user_ns: reaped.user_ns.max(counted.cpu_time.saturating_sub(reaped.system_ns)),
        minor_faults: reaped.minor_faults.max(counted.minor_faults),
        major_faults: reaped.major_faults.max(counted.major_faults),
        ..reaped
    }
}

/// A line of /proc/PID/maps.
#[derive(Clone)]
pub struct MapLine {
    /// First address.
    pub start: u64,
    /// Address behind it.
    pub end: u64,
    /// Whether code can run there.
    pub executable: bool,
    /// Whether the program may write there.
    pub writable: bool,
    /// Whether processes share it.
    pub shared: bool,
    /// Where in the file it begins, bytes.
    pub offset: u64,
    /// The file, or a name in brackets, or nothing.
    pub path: String,
}

/// What a process has mapped now.
pub fn maps(pid: u32) -> Vec<MapLine> {
    let line = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let address = |text| u64::from_str_radix(text, 16).ok();
        // permissions, offset, device, inode, path
        let mut fields = rest.splitn(5, ' ');
        let allowed = fields.next()?;
        let (executable, writable, shared) = (allowed.contains('x'), allowed.contains('w'), allowed.ends_with('s'));
        let offset = address(fields.next()?)?;
        let path = fields.nth(2).unwrap_or_default().trim_start().replace("\\012", "\n");
        Some(MapLine { start: address(start)?, end: address(end)?, executable, writable, shared, offset, path })
    };
    text(&format!("/proc/{pid}/maps")).lines().filter_map(line).collect()
}

/// Whether the system uses huge pages for memory that did not ask for them.
pub fn always_huge_pages() -> bool {
    text("/sys/kernel/mm/transparent_hugepage/enabled").contains("[always]")
}

/// Whether one of the processes has a file mapped, as far as this user may know.
pub fn has_mapped(pids: &[u32], file: &Path) -> bool {
    let wanted = file.to_string_lossy();
    pids.iter().any(|pid| text(&format!("/proc/{pid}/maps")).contains(&*wanted))
}

/// All processes that this user may see.
pub fn all() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// What /proc/cpuinfo says of the first processors. The kernel writes it as it is read: for 128 of them, that takes longer than
/// many a program.
pub fn first_processors() -> String {
    let mut start = [0; 8192];
    let read = fs::File::open("/proc/cpuinfo").and_then(|mut file| file.read(&mut start)).unwrap_or(0);
    String::from_utf8_lossy(&start[..read]).into_owned()
}

/// Bytes of a page.
pub fn page() -> u64 {
    rustix::param::page_size() as u64
}

/// The machine that this runs on.
pub fn machine() -> Machine {
    let names = rustix::system::uname();
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let memory = field(&text("/proc/meminfo"), "MemTotal").unwrap_or_default();
    let kib: u64 = memory.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0);
    Machine {
        host: names.nodename().to_string_lossy().into_owned(),
        kernel: format!("{} {}", names.sysname().to_string_lossy(), names.release().to_string_lossy()),
        processor: field(&first_processors(), memtoll_processor::HERE.description.model).unwrap_or_default(),
        processors,
        memory: kib * 1024,
        page: page() as u32,
        system: memtoll_symbols::System::here().names,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_described() {
        let pid = std::process::id();
        assert!(!command(pid).is_empty());
        assert!(executable(pid).contains("memtoll"));
        let flags = rustix::process::PidfdFlags::empty();
        let own = rustix::process::pidfd_open(rustix::process::getpid(), flags).unwrap();
        assert_eq!(parent(&own, pid), std::os::unix::process::parent_id());
        assert_eq!(stat(pid)[1], parent(&own, pid).to_string());
        assert_eq!(exit_of_zombie(pid), None);
        assert!(machine().memory > 0);
    }

    #[test]
    fn mapped_files_are_found() {
        let own = std::env::current_exe().unwrap();
        assert!(all().contains(&std::process::id()));
        assert!(has_mapped(&all(), &own));
        assert!(!has_mapped(&all(), Path::new("/no/such/file")));
    }

    #[test]
    fn maps_are_read() {
        let lines = maps(std::process::id());
        let here = maps as *const () as u64;
        let own = lines.iter().find(|line| (line.start..line.end).contains(&here)).unwrap();
        assert_eq!(own.path, std::env::current_exe().unwrap().to_string_lossy());
        assert!(lines.iter().any(|line| line.path == "[stack]"));
        assert!(lines.iter().any(|line| line.path.is_empty()));
    }

    #[test]
    fn the_resident_set_of_a_process_is_known() {
        let much = std::hint::black_box(vec![1u8; 32 << 20]);
        let with = memory(std::process::id()).unwrap();
        drop(much);
        // Tests beside this one allocate, too.
        assert!(with.now >= 32 << 20 && with.largest >= with.now, "{with:?}");
        assert_eq!(memory(u32::MAX >> 1), None);
    }

    #[test]
    fn processor_time_is_known_until_somebody_waits() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"])
            .spawn()
            .unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(rustix::process::WaitId::Pid(pid), options).unwrap();
        let usage = counted(child.id()).unwrap();
        assert!((1_000_000..10_000_000_000).contains(&usage.cpu_ns()), "{usage:?}");
        assert!(usage.minor_faults > 10, "{usage:?}");
        assert_eq!(memory(child.id()), None, "its memory is gone");
        child.wait().unwrap();
        assert_eq!(counted(child.id()), None);
    }

    #[test]
    fn a_zombie_tells_how_it_ended() {
        let mut child = std::process::Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(rustix::process::WaitId::Pid(pid), options).unwrap();
        assert_eq!(exit_of_zombie(child.id()), Some(Exit::Code(7)));
        child.wait().unwrap();
    }
}
