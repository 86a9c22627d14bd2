//! Recordings of very many processes. One recording of short processes is made, and its processes are written again and again,
//! each time at other addresses, as the kernel loads them; and as many processes are really recorded.

use crate::table::{Measured, Table, mebibytes, name, report, seconds};
use memtoll_bench::Common;
use memtoll_bench::run::CommandLine;
use memtoll_trace::frame::BlockKind;
use memtoll_trace::ids::ImageNo;
use memtoll_trace::reader::{BlockRef, Reader};
use memtoll_trace::writer::Writer;
use serde_json::Value;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// What is asked, and how many seconds a report of 10,000 processes may take, where there is a goal.
const VIEWS: [(&[&str], Option<f64>); 8] = [
    (&[], Some(2.0)),
    (&["--flat"], Some(2.0)),
    (&["--tree"], Some(2.0)),
    (&["--group", "process"], None),
    (&["--lanes"], None),
    (&["--regions"], None),
    (&["--format", "json"], None),
    (&["--format", "csv"], None),
];
/// Short processes, which all do the same.
const SCRIPT: &str =
    "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do git rev-parse HEAD; git log -1; done";

/// Measures reports of recordings with a tenth of `most` processes, three tenths and all.
pub fn measure(common: &Common, most: u32) -> Result<(), String> {
    let Common { memtoll, folder, .. } = common;
    let record = |to: &Path, script: &str| {
        let words = [memtoll.as_os_str(), "record".as_ref(), "-q".as_ref(), "--force".as_ref(), "-o".as_ref()];
        let words =
            words.into_iter().chain([to.as_os_str(), "--".as_ref(), "sh".as_ref(), "-c".as_ref(), script.as_ref()]);
        CommandLine::new(words).measure()
    };
    let file = folder.join("short.memtoll");
    record(&file, SCRIPT)?;
    let reader = Reader::open(&file).map_err(|error| error.to_string())?;
    let mut many: Vec<(String, PathBuf)> = Vec::new();
    for number in [most / 10, most / 10 * 3, most] {
        let path = folder.join(format!("{number}.memtoll"));
        multiply(&reader, &path, number)?;
        many.push((number.to_string(), path));
    }
    let recorded = folder.join("recorded.memtoll");
    // The shell runs two processes a round.
    let rounds = most / 2;
    let script = format!("i=0; while [ $i -lt {rounds} ]; do /bin/true; git rev-parse HEAD; i=$((i + 1)); done");
    record(&recorded, &script)?;
    many.push((format!("{most}, each recorded"), recorded));
    let titles: Vec<&str> = many.iter().flat_map(|(title, _)| [title.as_str(), "memory"]).collect();
    let mut table = Table::new("processes", &titles);
    for (view, goal) in VIEWS {
        let words: Vec<String> = view.iter().map(|&word| word.to_owned()).collect();
        let (mut columns, mut slowest) = (Vec::new(), 0.0f64);
        for (_, path) in &many {
            let usage = report(memtoll, path, &words)?;
            columns.extend([seconds(&usage), mebibytes(&usage)]);
            slowest = slowest.max(usage.cpu);
        }
        table.row(&name(view), &columns, Measured { value: slowest, goal });
    }
    table.print();
    let files = many.iter().map(|(_, path)| path).chain([&file]);
    files.into_iter().try_for_each(std::fs::remove_file).map_err(|error| error.to_string())
}

/// A recording with `processes` processes, made of those of `from`.
fn multiply(from: &Reader, to: &Path, processes: u32) -> Result<(), String> {
    let (whole, images): (Vec<&BlockRef>, Vec<&BlockRef>) =
        from.blocks.iter().partition(|block| block.header.image.is_none());
    let (last, first): (Vec<&BlockRef>, Vec<&BlockRef>) =
        whole.into_iter().partition(|block| matches!(block.header.kind, BlockKind::Symbols | BlockKind::End));
    let in_one = images.iter().filter_map(|block| block.header.image).max().ok_or("nothing was recorded")?.get();
    let file = File::create(to).map_err(|error| error.to_string())?;
    let mut writer = Writer::new(BufWriter::new(file)).map_err(|error| error.to_string())?;
    let mut write = |block: &BlockRef, round: u32| -> Result<(), String> {
        let mut payload = Vec::new();
        from.payload(block, &mut payload).map_err(|why| why.to_string())?;
        let kind = block.header.kind;
        let image = block.header.image.map(|image| image.later(round * in_one));
        let number = ImageNo::or_zero(image);
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
            _ => {}
        }
        writer.block_of(kind, image, &payload, block.extent).map_err(|error| error.to_string())
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
