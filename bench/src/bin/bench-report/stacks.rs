//! A recording whose call stacks are never the same: 20 million stack nodes, and a call site for each block.

use crate::table::{Measured, Table, mebibytes, name, report, seconds};
use memtoll_bench::Common;
use memtoll_bench::programs::compile;
use memtoll_bench::run::CommandLine;

/// What is asked, and how many seconds may pass until the answer is there, where there is a goal.
const VIEWS: [(&[&str], Option<f64>); 5] = [
    (&[], Some(2.0)),
    (&["--flat"], None),
    (&["--group", "function"], None),
    (&["--tree"], None),
    (&["--lanes"], None),
];

/// New nodes of a stack, in the mean: its outermost frames were there already.
const NODES_A_STACK: u64 = 27;

/// Measures reports of a recording with millions of stack nodes.
pub fn measure(common: &Common, millions: u64) -> Result<(), String> {
    let Common { memtoll, folder, .. } = common;
    let (program, file) = (folder.join("many_stacks"), folder.join("stacks.memtoll"));
    compile("g++", &["-O2", "-g", "-std=c++20"], "many_stacks.cpp", &program)?;
    let stacks = (millions * 1_000_000 / NODES_A_STACK).to_string();
    let words = [memtoll.as_os_str(), "record".as_ref(), "-q".as_ref(), "--force".as_ref(), "-o".as_ref()];
    let words = words.into_iter().chain([file.as_os_str(), "--".as_ref(), program.as_os_str(), stacks.as_ref()]);
    CommandLine::new(words).measure()?;
    let title = format!("{millions} million stack nodes");
    let mut table = Table::new(&title, &["CPU", "wall", "memory"]);
    for (view, goal) in VIEWS {
        let words: Vec<String> = view.iter().map(|&word| word.to_owned()).collect();
        let usage = report(memtoll, &file, &words)?;
        let columns = [seconds(&usage), format!("{:.3} s", usage.wall), mebibytes(&usage)];
        table.row(&name(view), &columns, Measured { value: usage.wall, goal });
    }
    table.print();
    [program, file].iter().try_for_each(std::fs::remove_file).map_err(|error| error.to_string())
}
