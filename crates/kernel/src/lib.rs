//! What the kernel knows of a process tree, collected as an ordinary user through `perf_event_open`: page faults with
//! address, code address, thread and time; context switches; mappings; names, exec, fork and exit.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use memtoll_kernel::{Clock, Collector, Options, spawn_held};
//!
//! let command = std::process::Command::new("ls");
//! let (mut child, collector) = spawn_held(command, |pid| Collector::start(pid, Clock::Monotonic, &Options::default()))?;
//! let mut collector = collector?;
//! let mut wakeup = collector.wakeup()?;
//! while wakeup.wait(std::time::Duration::from_millis(20))? {
//!     collector.drain(&mut |event| println!("{event:?}"));
//! }
//! child.wait()?;
//! println!("{:?}", collector.finish(&mut |event| println!("{event:?}")));
//! # Ok(())
//! # }
//! ```
//!
//! Vocabulary: a *ring* is the buffer that one processor's kernel writes into; a *fault set* is one fault event a
//! processor, all with the same period; the *view* is what the kernel let us see.
//!
//! What is seen and what is not:
//! * Without CAP_PERFMON (or `perf_event_paranoid` 1), faults taken inside system calls are neither sampled nor counted:
//!   `read` into fresh memory faults thousands of times unseen. [`View::system_calls`] says which of the two it is;
//!   the difference to `ru_minflt` is what is missing.
//! * Faults that the kernel takes on the program's behalf without touching its addresses (`get_user_pages`: building the
//!   stack in exec, futexes, MAP_POPULATE, direct I/O) are in `ru_minflt`, but no event of the kernel shows them.
//! * A program that gains privileges by exec (setuid) is out of sight from there on: after its [`What::Exec`] comes
//!   [`What::Exit`], although it lives.
//! * [`What::Map`] tells of mappings made, not of those taken away.
//!
//! What it costs the program (`cargo run --release -p memtoll-kernel --example price` measures it): counting 2 % of a fault,
//! a sample 0.4 to 0.6 us, a switch in and out 0.5 us, 3 us each millisecond of processor time. Each event is copied for each new thread and
//! process: 1.2 us times five a processor and one.

mod attributes;
mod clock_conversion;
mod collector;
mod decode;
mod event;
mod fault_durations;
mod fault_twins;
mod opening;
mod perf;
mod refusal_reason;
mod ring;
mod ring_reader;
mod sampling;
mod sampling_overhead;
mod start_stopped;
mod wakeup;

pub use attributes::RUNNING;
pub use clock_conversion::Clock;
pub use collector::{Collector, Totals};
pub use event::{KernelEvent, Mapping, Mode, What};
pub use opening::{Options, Period, View};
pub use refusal_reason::Refused;
pub use ring_reader::RingReader;
pub use sampling_overhead::Look;
pub use start_stopped::spawn_held;
pub use wakeup::Wakeup;
