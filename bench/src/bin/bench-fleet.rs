//! `make bench-fleet`: what a store of many runs takes, and how long its questions take. Recordings of real programs are
//! turned into many runs, which are added to a file and to a ClickHouse server that is started for it. Of the largest
//! numbers of runs, some are added, and the server copies them, as other runs. How fast rows are added is known of the former
//! only.
//!
//! The runs differ as those of a fleet do. Each has a machine, a day and a version, and values within 10 % of the
//! recording's. A version is another build, so its call stacks are others: they have their own keys.

use clap::Parser;
use memtoll_analysis::metric::Metric;
use memtoll_bench::programs::cost_programs;
use memtoll_bench::tables::{grouped, markdown};
use memtoll_bench::{Common, or_exit};
use memtoll_check::budget::Budget;
use memtoll_fleet::check::check;
use memtoll_fleet::columns::{self, METRICS};
use memtoll_fleet::dialect::CLICKHOUSE;
use memtoll_fleet::grouping::{By, Per};
use memtoll_fleet::identity::Identity;
use memtoll_fleet::layout::Column;
use memtoll_fleet::open::open;
use memtoll_fleet::question::{Question, compare, top, trend};
use memtoll_fleet::rollup::roll_up;
use memtoll_fleet::run::{Run, Wish};
use memtoll_fleet::schema::{OF_RUNS, tables};
use memtoll_fleet::selection::Selection;
use memtoll_fleet::sql::{Select, Sql};
use memtoll_fleet::store::{Purpose, Store};
use memtoll_model::Recording;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Recordings to make runs of [default: those of some programs, made now]
    files: Vec<PathBuf>,

    /// Ask the file at these numbers of rows (ascending; 0: no file)
    #[arg(long, value_delimiter = ',', default_values_t = [100_000, 300_000, 1_000_000])]
    file_rows: Vec<u64>,

    /// Ask the server at these numbers of rows (ascending; 0: no server)
    #[arg(long, value_delimiter = ',', default_values_t = [1_000_000, 10_000_000])]
    server_rows: Vec<u64>,

    /// Add at most this number of rows to the server as memtoll fleet add does; it copies these to get more
    #[arg(long, default_value_t = 5_000_000)]
    added: u64,

    /// Ask run by run only
    #[arg(long)]
    without_roll_ups: bool,
}

/// The programs that are recorded, of those that `make check-costs` has.
const PROGRAMS: [&str; 5] = ["python3", "git log -p", "sqlite3", "perl", "redis-server"];
/// A day, ns.
const DAY: i64 = 86_400_000_000_000;
/// Days on which runs start, and machines of the fleet.
const DAYS: usize = 30;
const MACHINES: usize = 500;
/// Versions come one after the other, then the first one again. The first measurement has these many.
const VERSIONS: usize = 20;
const FIRST: usize = 4;
/// Runs that are added together, as memtoll fleet add does.
const TOGETHER: usize = 32;
/// Rows that the server copies at once.
const COPIED: u64 = 10_000_000;
/// Rounds of each question that takes less than `LONG` seconds; others are asked once.
const TIMES: usize = 3;
const LONG: f64 = 10.0;
/// Runs that are drawn where not all count.
const DRAWN: u64 = 200;
const BUDGET: &str = "[run]\ncost = '+5%'\n[function.main]\nallocations = '+5%'\n";

type Failed = Box<dyn std::error::Error>;

/// Makes runs of recordings.
struct Fleet<'r> {
    originals: &'r [Run],
    /// The originals as the current version has them.
    built: Vec<Run>,
    version: Option<usize>,
    random: fastrand::Rng,
    number: usize,
    /// How many runs there will be.
    of: usize,
    /// Runs of one version before the next.
    of_version: usize,
    /// When the first run begins, ns since 1970.
    start: i64,
}

impl<'r> Fleet<'r> {
    fn new(originals: &'r [Run], wanted: &[u64], added: u64) -> Fleet<'r> {
        let each = originals.iter().map(|run| run.sites.len()).sum::<usize>() as f64 / originals.len() as f64;
        let runs = |rows: Option<&u64>| rows.map_or(0, |rows| (*rows as f64 / each) as usize) + 1;
        let (of, of_version) = (
            runs(wanted.last().map(|rows| added.min(*rows)).as_ref()),
            (runs(wanted.first()) / FIRST).max(originals.len()),
        );
        let (random, start) = (fastrand::Rng::with_seed(1), 20_000 * DAY);
        Fleet { originals, built: Vec::new(), version: None, random, number: 0, of, of_version, start }
    }

    /// The originals as another build makes them: all code is elsewhere, functions have the same names.
    fn build(&mut self, version: usize) {
        self.version = Some(version);
        self.built = self.originals.to_vec();
        for run in &mut self.built {
            let elsewhere =
                |key: &mut i64| *key = Identity::of("frame").with(key.to_le_bytes()).with_number(version as u64).key();
            for stack in &mut run.stacks {
                stack.id = Identity::of("stack").with(stack.id).with_number(version as u64).id();
                stack.frames.iter_mut().for_each(elsewhere);
                stack.shown.iter_mut().for_each(|shown| elsewhere(&mut shown.frame));
            }
            run.frames.iter_mut().for_each(|frame| elsewhere(&mut frame.key));
        }
    }

    fn next(&mut self) -> Run {
        // Runs come in the order of time.
        let part = (self.number as f64 / self.of as f64).min(0.999);
        let version = self.number / self.of_version % VERSIONS;
        if self.version != Some(version) {
            self.build(version);
        }
        let mut run = self.built[self.number % self.built.len()].clone();
        self.number += 1;
        run.id = Identity::of("bench").with_number(self.number as u64).id();
        run.host = format!("machine-{}", self.random.usize(..MACHINES));
        run.start_ns = self.start + (part * (DAYS as i64 * DAY) as f64) as i64;
        run.labels.insert("version".to_owned(), format!("1.{version}"));
        let factor = 0.9 + 0.2 * self.random.f64();
        let scale = |value: &mut u64| *value = (*value as f64 * factor) as u64;
        scale(&mut run.program_ns);
        run.sites.iter_mut().flat_map(|site| &mut site.values).for_each(scale);
        run.totals.iter_mut().flat_map(|total| &mut total.values).for_each(scale);
        run
    }
}

/// A server in a folder of its own; it ends with this.
struct Server {
    process: Child,
    http: u16,
}

impl Server {
    fn start(folder: &Path) -> Result<Server, Failed> {
        let _ = fs::remove_dir_all(folder);
        let held =
            [TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?];
        let ports: Vec<u16> = held.iter().map(|port| Ok(port.local_addr()?.port())).collect::<Result<_, Failed>>()?;
        drop(held);
        let process = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/clickhouse"))
            .arg(folder)
            .args(ports.iter().map(u16::to_string))
            .spawn()?;
        let server = Server { process, http: ports[0] };
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", server.http)).is_err() {
            if begin.elapsed() > Duration::from_secs(60) {
                return Err("clickhouse-server does not answer".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Seconds of processor time that a process took.
fn cpu_seconds(process: u32) -> Result<f64, Failed> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // Behind the name, which may hold anything: fields 14 and 15.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
    // SAFETY: it only reads a constant of the system.
    Ok(ticks as f64 / unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64)
}

fn versions(numbers: [usize; 2]) -> [Vec<(String, String)>; 2] {
    numbers.map(|number| vec![("version".to_owned(), format!("1.{number}"))])
}

type Ask<'a> = Box<dyn Fn(&mut dyn Store) -> Result<usize, memtoll_fleet::Error> + 'a>;

/// The questions and what they are called.
fn questions(service: &str) -> Vec<(String, Ask<'static>)> {
    let question = |selection: &Selection, by: By, per: Option<Per>| Question {
        selection: selection.clone(),
        metric: Metric::Cost,
        by,
        per,
        limit: 20,
    };
    let all = Selection::default();
    let one = Selection { labels: vec![("service".to_owned(), service.to_owned())], ..Selection::default() };
    let [before, after] = versions([0, 1]);
    let drawn = Selection { sample: Some(DRAWN), ..Selection::default() };
    let ask_top = |name: &str, question: Question| -> (String, Ask<'static>) {
        (name.to_owned(), Box::new(move |store| Ok(top(store, &question)?.rows.len())))
    };
    let ask_compare = |name: &str, question: Question| -> (String, Ask<'static>) {
        let (before, after) = (before.clone(), after.clone());
        (name.to_owned(), Box::new(move |store| Ok(compare(store, &question, &before, &after)?.rows.len())))
    };
    let over_versions = question(&all, By::All, Some(Per::Cpu));
    let budget = Budget::parse(BUDGET).expect("the budget above");
    let (new, old) = (all.with(&after), all.with(&before));
    vec![
        ask_top("`top`", question(&all, By::Function, None)),
        ask_top("`top --with-callees`", question(&all, By::FunctionWithCallees, None)),
        ask_top("`top`, one service", question(&one, By::Function, None)),
        ask_top(&format!("`top --runs {DRAWN}`"), question(&drawn, By::Function, None)),
        (
            "`trend --label version`".to_owned(),
            Box::new(move |store| Ok(trend(store, &over_versions, Some("version"))?.rows.len())),
        ),
        ask_compare("`compare`, two versions", question(&all, By::Function, None)),
        ask_compare("`compare`, two versions of one service", question(&one, By::Function, None)),
        (
            "`check`, a version against another".to_owned(),
            Box::new(move |store| Ok(check(store, &budget, &new, Some(&old))?.len())),
        ),
    ]
}

/// How many rows a table has.
fn count(store: &mut dyn Store, table: &str) -> Result<u64, Failed> {
    let select = Select { sql: Sql::text(&format!("SELECT count(*) FROM {table}")), columns: 1 };
    Ok(store.ask(&select)?.first().map_or(0.0, |row| row[0].number()) as u64)
}

/// Lets a server copy a share of its runs: each is there once more under another name, from another machine, and with values
/// within 10 % of its own.
fn copy(store: &mut dyn Store, name: &str, share: f64) -> Result<(), Failed> {
    let values = METRICS.map(columns::name);
    for table in tables(&CLICKHOUSE).iter().filter(|table| table.name == "runs" || OF_RUNS.contains(&table.name)) {
        let run = if table.name == "runs" { "upload" } else { "run" };
        let value = |column: &Column| match column.name.as_str() {
            key @ ("upload" | "run" | "run_id") => format!("MD5(concat({key}, '{name}'))"),
            "host" => format!("concat('machine-', toString(cityHash64({run}, '{name}') % {MACHINES}))"),
            value if values.contains(&value) => {
                format!("toUInt64({value} * (90 + cityHash64({run}, '{name}') % 21) / 100)")
            }
            other => other.to_owned(),
        };
        let copied: Vec<String> = table.columns.iter().map(value).collect();
        let chosen = format!("cityHash64({run}, 'chosen {name}') % 10000 < {}", (share * 10_000.0).ceil());
        let statement = format!("INSERT INTO {0} SELECT {1} FROM {0} WHERE {chosen}", table.name, copied.join(", "));
        store.change(&Sql::text(&statement))?;
    }
    Ok(())
}

/// Waits until a server has merged what it got, so that a question does not pay for what was added before.
fn settle(store: &mut dyn Store) -> Result<(), Failed> {
    while count(store, "system.merges")? > 0 {
        std::thread::sleep(Duration::from_millis(500));
    }
    Ok(())
}

/// Measurements of a store with a number of rows.
struct Measured {
    title: String,
    cells: Vec<(String, String)>,
}

/// Asks all questions. Of several times, the median counts: seconds until the answer, and those of CPU.
fn measure(
    store: &mut dyn Store,
    service: &str,
    cpu: &dyn Fn() -> Result<f64, Failed>,
    how: &str,
) -> Result<Vec<(String, String)>, Failed> {
    let mut cells = Vec::new();
    for (name, ask) in questions(service) {
        let name = format!("{name}{how}");
        let (mut seconds, mut of_cpu) = (Vec::new(), Vec::new());
        while seconds.len() < TIMES && seconds.last().is_none_or(|last| *last < LONG) {
            let (begin, before) = (Instant::now(), cpu()?);
            if ask(store)? == 0 {
                return Err(format!("{name} has no answer").into());
            }
            seconds.push(begin.elapsed().as_secs_f64());
            of_cpu.push(cpu()? - before);
        }
        let median = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        let shown = format!("{:.2} s ({:.2} s)", median(&mut seconds), median(&mut of_cpu));
        eprintln!("  {name}: {shown}");
        cells.push((name, shown));
    }
    Ok(cells)
}

/// Tells the bytes of `sites`, if they are known, and of all.
type Sizes<'a> = Box<dyn Fn(&mut dyn Store) -> Result<(Option<f64>, f64), Failed> + 'a>;

/// An engine under test.
struct Engine<'a> {
    name: &'a str,
    is_server: bool,
    /// Whose time counts: memtoll's, and the server's.
    processes: Vec<u32>,
    /// The most rows to add.
    added: u64,
    /// Makes roll-ups count no more.
    forget_rolls: &'a str,
    sizes: Sizes<'a>,
}

/// Fills a store and asks it whenever it has as many rows as are wanted, of its runs and of roll-ups.
fn fill(
    engine: &Engine,
    store: &mut dyn Store,
    originals: &[Run],
    wanted: &[u64],
    without_roll_ups: bool,
) -> Result<Vec<Measured>, Failed> {
    let mut fleet = Fleet::new(originals, wanted, engine.added);
    let cpu = || engine.processes.iter().map(|process| cpu_seconds(*process)).sum::<Result<f64, Failed>>();
    let own = || cpu_seconds(engine.processes[0]);
    let settle = |store: &mut dyn Store| if engine.is_server { settle(store) } else { Ok(()) };
    let (mut rows, mut sent, mut seconds, mut cpu_taken, mut own_taken) = (0u64, 0u64, 0.0, 0.0, 0.0);
    let mut all = Vec::new();
    for wanted in wanted {
        let (begin, before, own_before) = (Instant::now(), cpu()?, own()?);
        let mut making = 0.0;
        while rows < engine.added.min(*wanted) {
            let made = own()?;
            let runs: Vec<Run> = (0..TOGETHER).map(|_| fleet.next()).collect();
            making += own()? - made;
            let of_runs = runs.iter().map(|run| run.sites.len() as u64).sum::<u64>();
            (rows, sent) = (rows + of_runs, sent + of_runs);
            store.add(&runs)?;
        }
        // What a server merges later belongs to adding.
        settle(store)?;
        seconds += begin.elapsed().as_secs_f64() - making;
        cpu_taken += cpu()? - before - making;
        own_taken += own()? - own_before - making;
        let mut copies = 0;
        while rows < *wanted {
            let missing = (wanted - rows).min(COPIED);
            copy(store, &format!("{wanted} {copies}"), (missing as f64 / rows as f64).min(1.0))?;
            (rows, copies) = (count(store, "sites")?, copies + 1);
            eprintln!("  copied: {rows} rows");
        }
        settle(store)?;
        let runs = count(store, "runs")?;
        let name = engine.name;
        eprintln!("{name}: {rows} rows of {runs} runs");
        let (of_sites, of_all) = (engine.sizes)(store)?;
        let of_sites = of_sites.map_or(String::new(), |bytes| format!("{:.1}", bytes / rows as f64));
        let mut cells = vec![
            ("runs".to_owned(), grouped(runs)),
            ("rows that were added, not copied".to_owned(), grouped(sent)),
            ("rows added a second".to_owned(), grouped((sent as f64 / seconds) as u64)),
            ("rows added a second of CPU".to_owned(), grouped((sent as f64 / cpu_taken) as u64)),
            ("memtoll's part of this CPU".to_owned(), format!("{:.0} %", own_taken / cpu_taken * 100.0)),
            ("bytes of `sites` a row".to_owned(), of_sites),
            ("bytes of all tables a row".to_owned(), format!("{:.1}", of_all / rows as f64)),
            ("bytes of all tables a run".to_owned(), grouped((of_all / runs as f64) as u64)),
        ];
        cells.iter().for_each(|(name, value)| eprintln!("  {name}: {value}"));
        store.change(&Sql::text(engine.forget_rolls))?;
        cells.extend(measure(store, &originals[0].service, &cpu, "")?);
        if !without_roll_ups {
            let (begin, before) = (Instant::now(), cpu()?);
            let days = roll_up(store, "2100-01-01", false)?;
            let shown = format!("{:.1} s ({:.1} s)", begin.elapsed().as_secs_f64(), cpu()? - before);
            eprintln!("  rolled up {days} days of services: {shown}");
            cells.push(("`roll-up` of all days".to_owned(), shown));
            let of_rolls = (engine.sizes)(store)?.1 - of_all;
            cells.push(("bytes of roll-ups".to_owned(), grouped(of_rolls.max(0.0) as u64)));
            cells.extend(measure(store, &originals[0].service, &cpu, ", rolled up")?);
        }
        all.push(Measured { title: format!("{name}, {} rows", grouped(rows)), cells });
    }
    Ok(all)
}

/// Records the programs.
fn recorded(common: &Common) -> Result<Vec<PathBuf>, Failed> {
    let mut files = Vec::new();
    for program in cost_programs(&common.folder)?.into_iter().filter_map(Result::ok) {
        if !PROGRAMS.contains(&program.name) {
            continue;
        }
        let file = common.folder.join(program.name.replace(' ', "-")).with_extension("memtoll");
        let front =
            [common.memtoll.as_os_str(), "record".as_ref(), "--quiet".as_ref(), "--force".as_ref(), "-o".as_ref()];
        program.command.under(front.into_iter().chain([file.as_os_str(), "--".as_ref()])).measure()?;
        files.push(file);
    }
    Ok(files)
}

fn bench(arguments: &Arguments) -> Result<String, Failed> {
    let folder = &arguments.common.folder;
    fs::create_dir_all(folder)?;
    let files = match arguments.files.is_empty() {
        true => recorded(&arguments.common)?,
        false => arguments.files.clone(),
    };
    let mut originals = Vec::new();
    let mut rows = Vec::new();
    for file in &files {
        let begin = Instant::now();
        let run = Run::of(&Recording::open(file)?, &Wish::default());
        rows.push(vec![
            file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            grouped(run.sites.len() as u64),
            grouped(run.frames.len() as u64),
            format!("{:.2} s", begin.elapsed().as_secs_f64()),
        ]);
        originals.push(run);
    }
    let mut text = markdown(&["recording", "rows", "frames", "made into rows in"], 1, &rows) + "\n";
    let mut all = Vec::new();
    let this = std::process::id();
    if arguments.file_rows.iter().any(|rows| *rows > 0) {
        let file = folder.join("fleet.db");
        let _ = fs::remove_file(&file);
        let mut store = open(&file.to_string_lossy(), Purpose::Add)?;
        let engine = Engine {
            name: "SQLite",
            is_server: false,
            processes: vec![this],
            added: u64::MAX,
            forget_rolls: "DELETE FROM rolls",
            sizes: Box::new(|_| Ok((None, fs::metadata(&file)?.len() as f64))),
        };
        let (rows, without) = (&arguments.file_rows, arguments.without_roll_ups);
        all.extend(fill(&engine, store.as_mut(), &originals, rows, without)?);
    }
    if arguments.server_rows.iter().any(|rows| *rows > 0) {
        let server = Server::start(&folder.join("clickhouse"))?;
        let mut store = open(&format!("clickhouse://127.0.0.1:{}/fleet", server.http), Purpose::Add)?;
        let sizes = |store: &mut dyn Store| {
            let of = |table: &str| {
                let sql = Sql::text(&format!(
                    "SELECT sum(bytes) FROM system.parts WHERE active AND database = currentDatabase() AND {table}"
                ));
                Select { sql, columns: 1 }
            };
            let mut bytes =
                |table: &str| Ok::<_, Failed>(store.ask(&of(table))?.first().map_or(0.0, |row| row[0].number()));
            Ok((Some(bytes("table = 'sites'")?), bytes("1 = 1")?))
        };
        let engine = Engine {
            name: "ClickHouse",
            is_server: true,
            processes: vec![this, server.process.id()],
            added: arguments.added,
            forget_rolls: "TRUNCATE TABLE rolls",
            sizes: Box::new(sizes),
        };
        let (rows, without) = (&arguments.server_rows, arguments.without_roll_ups);
        all.extend(fill(&engine, store.as_mut(), &originals, rows, without)?);
    }
    let header: Vec<&str> = std::iter::once("").chain(all.iter().map(|measured| measured.title.as_str())).collect();
    let names = all.first().map_or(&[][..], |measured| &measured.cells);
    let rows = names.iter().enumerate().map(|(index, (name, _))| {
        std::iter::once(name.clone()).chain(all.iter().map(|measured| measured.cells[index].1.clone())).collect()
    });
    text += &markdown(&header, 1, &rows.collect::<Vec<_>>());
    Ok(text)
}

fn main() {
    let arguments = Arguments::parse();
    print!("{}", or_exit(bench(&arguments).map_err(|error| error.to_string())));
}
