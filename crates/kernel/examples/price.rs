//! What collecting kernel events costs a program: its processor time with and without, in turns.
//!
//! `cargo run --release -p memtoll-kernel --example price [ROUNDS]`
//!
//! Programs: a *storm* does nothing but touch fresh memory; *threads* are made and end at once; *processes* likewise;
//! *switches* are two threads that wake each other. The collector's own time is given per event.

use memtoll_kernel::{Clock, Collector, Options, Period, spawn_held};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::error::Error;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How often the programs do it.
const PROGRAMS: [(&str, u64); 4] =
    [("storm", 400_000), ("threads", 5_000), ("processes", 1_000), ("switches", 100_000)];

/// The ways to run them; none is without a collector.
const WAYS: [(&str, Option<Period>); 4] = [
    ("alone", None),
    ("counted", Some(Period::Every(u32::MAX))),
    ("adaptive", Some(Period::Adaptive)),
    ("every fault", Some(Period::Every(1))),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, program, times] = &arguments[..] {
        return act(program, times.parse()?);
    }
    let rounds: usize = arguments.get(1).map_or(Ok(9), |rounds| rounds.parse())?;
    println!(
        "program     way           CPU ms   ratio  ns more a time   events  collector ns/event  start us  finish us"
    );
    for (program, times) in PROGRAMS {
        let mut runs: Vec<Vec<Run>> = WAYS.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            for (&(_, period), runs) in WAYS.iter().zip(&mut runs) {
                runs.push(run(program, times, period)?);
            }
        }
        let alone = median(&runs[0], |run| run.cpu);
        for ((way, period), runs) in WAYS.iter().zip(&runs) {
            let cpu = median(runs, |run| run.cpu);
            print!("{program:<11} {way:<12} {:>7.1} {:>7.3}", cpu * 1e3, cpu / alone);
            if period.is_some() {
                let events = median(runs, |run| run.events);
                print!(" {:>15.0} {events:>8.0}", (cpu - alone) * 1e9 / times as f64);
                print!(" {:>19.0}", median(runs, |run| run.draining * 1e9 / run.events));
                print!(" {:>9.0}", median(runs, |run| run.start * 1e6));
                print!(" {:>10.0}", median(runs, |run| run.finish * 1e6));
            }
            println!();
        }
    }
    Ok(())
}

/// One run, in seconds and events.
#[derive(Default)]
struct Run {
    cpu: f64,
    events: f64,
    draining: f64,
    start: f64,
    finish: f64,
}

fn run(program: &str, times: u64, period: Option<Period>) -> Result<Run, Box<dyn Error>> {
    let mut run = Run::default();
    let mut command = Command::new(std::env::current_exe()?);
    command.args([program, &times.to_string()]);
    let Some(period) = period else {
        run.cpu = cpu_time_of(command.spawn()?)?;
        return Ok(run);
    };
    let began = Instant::now();
    let options = Options { period, ..Options::default() };
    let (child, collector) = spawn_held(command, |pid| Collector::start(pid, Clock::Monotonic, &options))?;
    run.start = began.elapsed().as_secs_f64();
    let mut collector = collector?;
    let mut wakeup = collector.wakeup()?;
    let draining = own_time();
    while wakeup.wait(Duration::from_millis(20))? {
        collector.drain(&mut |_| run.events += 1.0);
    }
    run.draining = own_time() - draining;
    run.cpu = cpu_time_of(child)?;
    let began = Instant::now();
    let totals = collector.finish(&mut |_| run.events += 1.0);
    run.finish = began.elapsed().as_secs_f64();
    if totals.lost_records > 0 {
        eprintln!("{} records lost", totals.lost_records);
    }
    Ok(run)
}

fn act(program: &str, times: u64) -> Result<(), Box<dyn Error>> {
    match program {
        "storm" => {
            let page = rustix::param::page_size();
            let length = 1000 * page;
            for _ in 0..times / 1000 {
                let flags = MapFlags::PRIVATE;
                // SAFETY: a mapping of our own, which only this loop touches.
                unsafe {
                    let memory =
                        mmap_anonymous(std::ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, flags)?;
                    madvise(memory, length, Advice::LinuxNoHugepage)?;
                    for offset in (0..length).step_by(page) {
                        memory.cast::<u8>().add(offset).write_volatile(1);
                    }
                    munmap(memory, length)?;
                }
            }
        }
        "threads" => {
            for _ in 0..times {
                std::thread::spawn(|| {}).join().map_err(|_| "the thread panicked")?;
            }
        }
        "processes" => {
            for _ in 0..times {
                Command::new("true").status()?;
            }
        }
        "switches" => {
            let (ping, pings) = std::sync::mpsc::sync_channel(0);
            let (pong, pongs) = std::sync::mpsc::sync_channel(0);
            let echo = std::thread::spawn(move || pings.iter().all(|()| pong.send(()).is_ok()));
            for _ in 0..times / 2 {
                ping.send(())?;
                pongs.recv()?;
            }
            drop(ping);
            echo.join().map_err(|_| "the thread panicked")?;
        }
        _ => return Err("unknown program".into()),
    }
    Ok(())
}

/// Waits for the program. Returns the seconds for which it and its children ran.
fn cpu_time_of(child: Child) -> Result<f64, Box<dyn Error>> {
    let mut status = 0;
    // SAFETY: plain integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes both.
    if unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) } < 0 || status != 0 {
        return Err("the program failed".into());
    }
    Ok(seconds(&usage))
}

/// Seconds that this process has run.
fn own_time() -> f64 {
    // SAFETY: plain integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes it.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    seconds(&usage)
}

fn seconds(usage: &libc::rusage) -> f64 {
    [usage.ru_utime, usage.ru_stime].iter().map(|time| time.tv_sec as f64 + time.tv_usec as f64 / 1e6).sum()
}

fn median(runs: &[Run], of: impl Fn(&Run) -> f64) -> f64 {
    let mut values: Vec<f64> = runs.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
