//! `make bench-report`: what `memtoll report` takes for recordings of very many processes. One recording of short
//! processes is made, and its processes are written again and again, each time at other addresses, as the kernel loads them.
//! And of a recording of one process with very many events: `--events`, 100 million where nothing else is asked for.

use clap::Parser;
use memtoll_bench::programs::deep_loop;
use memtoll_bench::run::CommandLine;
use memtoll_bench::{Common, or_exit};
use memtoll_trace::frame::BlockKind;
use memtoll_trace::nodes;
use memtoll_trace::reader::{BlockRef, Reader};
use memtoll_trace::writer::Writer;
use serde_json::Value;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

const PROCESSES: [u32; 3] = [1000, 3000, 10_000];
const VIEWS: [&[&str]; 8] = [
    &[],
    &["--flat"],
    &["--tree"],
    &["--group", "process"],
    &["--lanes"],
    &["--regions"],
    &["--format", "json"],
    &["--format", "csv"],
];
/// What is asked of very many events: `FROM` and `TO` are a tenth and nine tenths of the time that was recorded.
const LONG_VIEWS: [&[&str]; 9] = [
    &[],
    &["--flat", "--from", "FROM", "--to", "TO"],
    &["--tree", "--from", "FROM", "--to", "TO"],
    &["--flat", "--at", "FROM"],
    &["--flat", "--at", "TO"],
    &["--lanes"],
    &["--regions"],
    &["--group", "thread"],
    &["--group", "size"],
];
/// Short processes, which all do the same.
const SCRIPT: &str =
    "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do git rev-parse HEAD; git log -1; done";

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    /// Events of the long recording, in millions
    #[arg(long, default_value_t = 100, value_name = "MILLIONS")]
    events: u64,
}

/// A recording with `processes` processes, made of those of `from`.
fn multiply(from: &Reader, to: &Path, processes: u32) -> Result<(), String> {
    let (whole, images): (Vec<&BlockRef>, Vec<&BlockRef>) =
        from.blocks.iter().partition(|block| block.header.image == 0);
    let (last, first): (Vec<&BlockRef>, Vec<&BlockRef>) =
        whole.into_iter().partition(|block| matches!(block.header.kind, BlockKind::Symbols | BlockKind::End));
    let in_one = images.iter().map(|block| block.header.image).max().ok_or("nothing was recorded")?;
    let file = File::create(to).map_err(|error| error.to_string())?;
    let mut writer = Writer::new(BufWriter::new(file)).map_err(|error| error.to_string())?;
    let mut write = |block: &BlockRef, round: u32| -> Result<(), String> {
        let mut payload = Vec::new();
        from.payload(block, &mut payload)?;
        let kind = block.header.kind;
        let number = if block.header.image == 0 { 0 } else { block.header.image + round * in_one };
        let shift = u64::from(round) << 16;
        if number > processes {
            return Ok(());
        }
        match kind {
            BlockKind::Image => change(&mut payload, |image| {
                image["image"] = number.into();
                image["pid"] = (number + 1000).into();
            })?,
            BlockKind::Modules => change(&mut payload, |modules| {
                for module in modules.as_array_mut().into_iter().flatten() {
                    for field in ["start", "end", "bias"] {
                        module[field] = module[field].as_u64().unwrap_or(0).wrapping_add(shift).into();
                    }
                }
            })?,
            BlockKind::Nodes | BlockKind::Places => {
                let mut found = nodes::decode(&payload).map_err(|error| error.to_string())?;
                let known = found.iter_mut().filter(|node| node.module != 0);
                known.for_each(|node| node.address = node.address.wrapping_add(shift));
                payload = nodes::encode(&found);
            }
            _ => {}
        }
        writer.block_of(kind, number, &payload, block.extent).map_err(|error| error.to_string())
    };
    first.iter().try_for_each(|block| write(block, 0))?;
    for round in 0..processes.div_ceil(in_one) {
        images.iter().try_for_each(|block| write(block, round))?;
    }
    last.iter().try_for_each(|block| write(block, 0))?;
    writer.index().and_then(|()| writer.flush()).map_err(|error| error.to_string())
}

fn change(payload: &mut Vec<u8>, action: impl FnOnce(&mut Value)) -> Result<(), String> {
    let mut value = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
    action(&mut value);
    *payload = serde_json::to_vec(&value).map_err(|error| error.to_string())?;
    Ok(())
}

/// Makes a recording of one process with very many events, and measures views of it.
fn run_long(arguments: &Arguments) -> Result<(), String> {
    let (memtoll, folder) = (&arguments.common.memtoll, &arguments.common.folder);
    let (memtoll, program) = (memtoll.to_string_lossy().into_owned(), deep_loop(folder)?);
    let file = folder.join("long.memtoll").to_string_lossy().into_owned();
    let pairs = (arguments.events * 500_000).to_string();
    let recording =
        [memtoll.as_str(), "record", "-q", "--force", "-o", &file, "--", &program.to_string_lossy(), &pairs];
    CommandLine::new(recording.map(str::to_owned)).measure()?;
    let reader = Reader::open(Path::new(&file)).map_err(|error| error.to_string())?;
    let extents = || reader.blocks.iter().filter(|block| block.header.kind == BlockKind::Events);
    let last = extents().filter_map(|block| Some(block.extent?.last_time)).max().ok_or("nothing was recorded")?;
    let about: memtoll_trace::meta::Recording = reader.json(&reader.blocks[0])?;
    let share = |share: f64| format!("{:.6}s", last as f64 / about.clock.units_per_second * share);
    let (from, to) = (share(0.1), share(0.9));
    println!("\n{:<36}{:>12}  {} MB", format!("{} million events", arguments.events), "", reader.bytes / 1_000_000);
    for view in LONG_VIEWS {
        let words = view.iter().map(|word| match *word {
            "FROM" => from.clone(),
            "TO" => to.clone(),
            word => word.to_owned(),
        });
        let command = [memtoll.clone(), "report".into(), file.clone()];
        let usage = CommandLine::new(command.into_iter().chain(words)).measure()?;
        let name = if view.is_empty() { "summary".to_owned() } else { view.join(" ") };
        println!("{name:<36}{:>10.3} s {:>6} MiB", usage.cpu, usage.peak_rss >> 20);
    }
    Ok(())
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let (memtoll, folder) = (&arguments.common.memtoll, &arguments.common.folder);
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let file = folder.join("short.memtoll");
    let words = ["record", "-q", "--force", "-o", &file.to_string_lossy(), "--", "sh", "-c", SCRIPT].map(str::to_owned);
    CommandLine::new([memtoll.to_string_lossy().into_owned()].into_iter().chain(words)).measure()?;
    let reader = Reader::open(&file).map_err(|error| error.to_string())?;
    println!("{:<18}{}", "processes", PROCESSES.map(|number| format!("{number:>22}")).concat());
    let many = PROCESSES.map(|number| folder.join(format!("{number}.memtoll")));
    for (number, path) in PROCESSES.iter().zip(&many) {
        multiply(&reader, path, *number)?;
    }
    for view in VIEWS {
        let mut row = format!("{:<18}", if view.is_empty() { "summary".to_owned() } else { view.join(" ") });
        for path in &many {
            let words = [memtoll.to_string_lossy().into_owned(), "report".into(), path.to_string_lossy().into_owned()];
            let command = CommandLine::new(words.into_iter().chain(view.iter().map(|word| word.to_string())));
            let usage = command.measure()?;
            row += &format!("{:>10.2} s {:>6} MiB", usage.cpu, usage.peak_rss >> 20);
        }
        println!("{row}");
    }
    Ok(())
}

fn main() {
    let arguments = Arguments::parse();
    or_exit(run(&arguments).and_then(|()| run_long(&arguments)));
}
