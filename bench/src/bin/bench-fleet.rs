//! Turns real recordings into many runs, adds them to a store, and measures what that takes and how long the questions take.
//!
//! The runs differ: each has a machine, a version and a day of its own, and values within 10 % of the recording's.

use clap::Parser;
use memtoll_analysis::metric::Metric;
use memtoll_fleet::identity::Identity;
use memtoll_fleet::question::{Question, compare, top, trend};
use memtoll_fleet::run::{Run, Wish};
use memtoll_fleet::selection::Selection;
use memtoll_fleet::statement::{By, Per, Sql};
use memtoll_fleet::store::{Missing, Store, open};
use memtoll_model::Recording;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Parser)]
struct Arguments {
    /// Recordings to make runs of
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// The store, which is to be new
    #[arg(long, default_value = "target/bench-fleet.db")]
    store: String,

    /// Measure the questions when the store has so many rows (repeatable, ascending)
    #[arg(long, default_values_t = [1_000_000])]
    rows: Vec<u64>,
}

/// A day, ns.
const DAY: i64 = 86_400_000_000_000;
/// Runs start on this many days, in a fleet of so many machines, with so many versions one after the other.
const DAYS: usize = 30;
const MACHINES: usize = 500;
const VERSIONS: usize = 20;
/// Runs that are added together.
const TOGETHER: usize = 64;

/// Makes runs of recordings.
struct Fleet {
    originals: Vec<Run>,
    random: fastrand::Rng,
    number: usize,
    /// When the first run begins, ns since 1970.
    start: i64,
}

impl Fleet {
    fn next(&mut self, of: usize) -> Run {
        let mut run = self.originals[self.number % self.originals.len()].clone();
        self.number += 1;
        run.id = Identity::of("bench").with_number(self.number as u64).id();
        run.host = format!("machine-{}", self.random.usize(..MACHINES));
        // Runs come in the order of time.
        let part = self.number as f64 / of.max(1) as f64;
        run.start_ns = self.start + (part * (DAYS as i64 * DAY) as f64) as i64;
        run.labels.insert("version".to_owned(), format!("1.{}", (part * VERSIONS as f64) as usize));
        run.labels.insert("requests".to_owned(), self.random.u32(1_000..2_000).to_string());
        let factor = 0.9 + 0.2 * self.random.f64();
        run.cpu_ns = (run.cpu_ns as f64 * factor) as u64;
        let values = run.sites.iter_mut().flat_map(|site| &mut site.values);
        values.for_each(|value| *value = (*value as f64 * factor) as u64);
        run
    }
}

/// Ns of CPU that this process took.
fn cpu_seconds() -> f64 {
    // SAFETY: an all-zero rusage is valid, and the pointer is to a live one.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

type Failed = Box<dyn std::error::Error>;

fn measure(store: &mut dyn Store) -> Result<(), Failed> {
    let label = |version: &str| vec![("version".to_owned(), version.to_owned())];
    let question = |labels: Vec<(String, String)>, by: By, per: Option<Per>| Question {
        selection: Selection { labels, ..Selection::default() },
        metric: Metric::Cost,
        by,
        per,
        limit: 20,
    };
    type Ask<'a> = &'a dyn Fn(&mut dyn Store) -> Result<usize, memtoll_fleet::Error>;
    let questions: [(&str, Ask); 5] = [
        ("top", &|store| Ok(top(store, &question(vec![], By::Function, None))?.rows.len())),
        ("top of one version", &|store| Ok(top(store, &question(label("1.3"), By::Function, None))?.rows.len())),
        ("top --with-callees", &|store| Ok(top(store, &question(vec![], By::FunctionWithCallees, None))?.rows.len())),
        ("trend --label version", &|store| {
            Ok(trend(store, &question(vec![], By::All, Some(Per::Cpu)), Some("version"))?.rows.len())
        }),
        ("compare two versions", &|store| {
            let question = question(vec![], By::Function, Some(Per::Run));
            Ok(compare(store, &question, &label("1.3"), &label("1.4"))?.rows.len())
        }),
    ];
    for (name, ask) in questions {
        let mut seconds: Vec<f64> = Vec::new();
        for _ in 0..3 {
            let begin = Instant::now();
            let rows = ask(store)?;
            assert!(rows > 0, "{name}");
            seconds.push(begin.elapsed().as_secs_f64());
        }
        seconds.sort_by(f64::total_cmp);
        println!("  {name:24} {:8.3} s (median of 3; least {:.3} s)", seconds[1], seconds[0]);
    }
    Ok(())
}

fn main() -> Result<(), Failed> {
    let arguments = Arguments::parse();
    let mut originals = Vec::new();
    for file in &arguments.files {
        let run = Run::of(&Recording::open(file)?, &Wish::default());
        println!(
            "{}: {} rows, {} stacks, {} frames",
            file.display(),
            run.sites.len(),
            run.stacks.len(),
            run.frames.len()
        );
        originals.push(run);
    }
    let each = originals.iter().map(|run| run.sites.len()).sum::<usize>() as f64 / originals.len() as f64;
    let most = arguments.rows.last().copied().unwrap_or(0);
    let of = (most as f64 / each) as usize + 1;
    let start = 20_000 * DAY;
    let mut fleet = Fleet { originals, random: fastrand::Rng::with_seed(1), number: 0, start };
    let mut store = open(&arguments.store, Missing::Make)?;
    let (mut rows, mut adding, mut cpu) = (0u64, 0.0, 0.0);
    for wanted in arguments.rows {
        while rows < wanted {
            let runs: Vec<Run> = (0..TOGETHER).map(|_| fleet.next(of)).collect();
            rows += runs.iter().map(|run| run.sites.len() as u64).sum::<u64>();
            let (begin, before) = (Instant::now(), cpu_seconds());
            store.add(&runs)?;
            adding += begin.elapsed().as_secs_f64();
            cpu += cpu_seconds() - before;
        }
        let size = std::fs::metadata(&arguments.store).map_or(0, |about| about.len());
        println!(
            "{rows} rows of {} runs: {:.0} rows a run, {:.0} rows/s added ({:.0} per second of this process's CPU)",
            fleet.number,
            rows as f64 / fleet.number as f64,
            rows as f64 / adding,
            rows as f64 / cpu
        );
        if size > 0 {
            println!(
                "  {size} bytes: {:.1} a row, {:.0} a run",
                size as f64 / rows as f64,
                size as f64 / fleet.number as f64
            );
        } else {
            let sizes = "SELECT table, sum(bytes), sum(rows) FROM system.parts WHERE active AND database = \
                         currentDatabase() GROUP BY table ORDER BY table";
            for row in store.ask(&Sql::text(sizes))? {
                println!("  {}: {} bytes, {} rows", row[0].text(), row[1].number(), row[2].number());
            }
        }
        measure(store.as_mut())?;
    }
    Ok(())
}
