//! From the kernel's records to events.

use crate::attributes::SAMPLES;
use crate::event::{KernelEvent, Mapping, Mode, What};
use crate::ring::Record;
use byteorder::NativeEndian;
use linux_perf_event_reader::{
    ContextSwitchRecord, CpuMode, Endianness, EventRecord, PerfEventAttr, RawData, RawEventRecord, RecordParseInfo,
    RecordType, TaskWasPreempted,
};
use perf_event_open_sys::bindings::perf_event_attr;
use rustc_hash::FxHashMap;
use std::io;
use std::sync::Arc;

/// What a sample of an event stands for.
#[derive(Debug, Clone, Copy)]
pub enum Meaning {
    /// Faults that have been handled.
    Faults { weight: u32, major: bool },
    /// A fault that begins.
    Beginning,
    /// The program runs.
    Running,
}

/// Distinct paths that are remembered; beyond, the memory starts afresh.
const PATHS: usize = 4096;

/// Reads records of all events of a collector. They have the same fields, but for those that say where threads run.
pub struct Decoder {
    fields: RecordParseInfo,
    running_fields: RecordParseInfo,
    /// By the number of the event.
    meanings: FxHashMap<u64, Meaning>,
    paths: FxHashMap<Box<[u8]>, Arc<str>>,
}

impl Decoder {
    /// `attr` is that of one of the sampled events, `running` that of the events that say where threads run.
    pub fn new(attr: &perf_event_attr, running: &perf_event_attr) -> io::Result<Decoder> {
        let (fields, running_fields) = (fields_of(attr)?, fields_of(running)?);
        Ok(Decoder { fields, running_fields, meanings: FxHashMap::default(), paths: FxHashMap::default() })
    }

    /// Samples of event number `id` mean this.
    pub fn learn(&mut self, id: u64, meaning: Meaning) {
        self.meanings.insert(id, meaning);
    }

    /// The event that a record tells of, its `ticks` still being the kernel's nanoseconds. None for records that tell of
    /// nothing here, an error for one that cannot be read.
    pub fn decode(&mut self, cpu: u32, record: Record) -> io::Result<Option<KernelEvent>> {
        let kind = RecordType(record.kind);
        let fields =
            if kind == RecordType::SAMPLE && self.is_running(record.body) { self.running_fields } else { self.fields };
        let raw = RawEventRecord::new(kind, record.misc, record.body, fields);
        let (time, pid, tid, what) = match raw.parse()? {
            EventRecord::Sample(sample) => {
                let (Some(id), Some(ip), Some(address), Some(pid), Some(tid), Some(time)) =
                    (sample.id, sample.ip, sample.addr, sample.pid, sample.tid, sample.timestamp)
                else {
                    return Err(io::ErrorKind::InvalidData.into());
                };
                let what = match *self.meanings.get(&id).ok_or(io::ErrorKind::InvalidData)? {
                    Meaning::Faults { weight, major } => {
                        let in_kernel = sample.cpu_mode != CpuMode::User;
                        // 0: another thread has taken the page away already, or this kernel cannot tell.
                        let page = sample.data_page_size.filter(|size| *size > 0);
                        What::Fault { address, ip, weight, major, in_kernel, handling: None, page }
                    }
                    Meaning::Running if sample.cpu_mode == CpuMode::User => {
                        let top = sample.user_stack.filter(|(_, size)| *size >= size_of::<u64>() as u64);
                        let top = top.and_then(|(mut stack, _)| stack.read_u64::<NativeEndian>().ok());
                        What::Runs { ip, top, mode: Mode::Program }
                    }
                    Meaning::Running => {
                        let register = |number| sample.user_regs.as_ref().and_then(|all| all.get(number));
                        let entry = SAMPLES.entry.as_ref();
                        let is_call = entry.is_none_or(|entry| entry.is_call(register));
                        let mode = if is_call { Mode::SystemCall } else { Mode::Fault };
                        What::Runs { ip: entry.and_then(|entry| register(entry.address)).unwrap_or(0), top: None, mode }
                    }
                    Meaning::Beginning => What::FaultBegins { address },
                };
                (time, pid, tid, what)
            }
            EventRecord::Fork(fork) => {
                let what = What::Fork { child_pid: fork.pid as u32, child_tid: fork.tid as u32 };
                (fork.timestamp, fork.ppid, fork.ptid, what)
            }
            EventRecord::Exit(exit) => (exit.timestamp, exit.pid, exit.tid, What::Exit),
            other => {
                let what = match other {
                    EventRecord::ContextSwitch(ContextSwitchRecord::In { .. }) => What::SwitchIn,
                    EventRecord::ContextSwitch(ContextSwitchRecord::Out { preempted, .. }) => {
                        What::SwitchOut { preempted: preempted == TaskWasPreempted::Yes }
                    }
                    EventRecord::Mmap2(map) => What::Map(Box::new(Mapping {
                        start: map.address,
                        length: map.length,
                        page_offset: map.page_offset,
                        protection: map.protection,
                        flags: map.flags,
                        path: self.path(map.path),
                    })),
                    EventRecord::Comm(comm) => {
                        let name = String::from_utf8_lossy(&comm.name.as_slice()).into();
                        if comm.is_execve { What::Exec(name) } else { What::Name(name) }
                    }
                    EventRecord::Lost(lost) => What::Lost { records: lost.count },
                    _ => return Ok(None),
                };
                let common = raw.common_data()?;
                let (Some(time), Some(pid), Some(tid)) = (common.timestamp, common.pid, common.tid) else {
                    return Err(io::ErrorKind::InvalidData.into());
                };
                (time, pid, tid, what)
            }
        };
        Ok(Some(KernelEvent { ticks: time, cpu, pid: pid as u32, tid: tid as u32, what }))
    }

    /// Whether a sample, which begins with the number of its event, says where a thread runs.
    fn is_running(&self, body: RawData) -> bool {
        let mut body = body;
        let id = body.read_u64::<NativeEndian>().unwrap_or(0);
        matches!(self.meanings.get(&id), Some(Meaning::Running))
    }

    fn path(&mut self, path: RawData) -> Arc<str> {
        let bytes = path.as_slice();
        if let Some(known) = self.paths.get(&*bytes) {
            return known.clone();
        }
        if self.paths.len() == PATHS {
            self.paths.clear();
        }
        let path: Arc<str> = String::from_utf8_lossy(&bytes).into();
        self.paths.insert(bytes.into(), path.clone());
        path
    }
}

fn fields_of(attr: &perf_event_attr) -> io::Result<RecordParseInfo> {
    // SAFETY: plain integers without gaps, initialised.
    let bytes = unsafe { std::slice::from_raw_parts((&raw const *attr).cast::<u8>(), size_of::<perf_event_attr>()) };
    let (attr, _) = PerfEventAttr::parse::<_, NativeEndian>(bytes)?;
    Ok(RecordParseInfo::new(&attr, Endianness::NATIVE))
}
