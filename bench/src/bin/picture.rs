//! `make picture`: the picture in the README, which is what `memtoll report` prints on a terminal.

use anstyle::{Color, RgbColor};
use anstyle_svg::Term;
use clap::Parser;
use memtoll_bench::run::CommandLine;
use memtoll_bench::{Common, or_exit};
use std::path::PathBuf;

#[derive(Parser)]
#[command(about = "Draws the summary of a recording as an SVG", version)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// The recording
    recording: PathBuf,

    /// The SVG
    picture: PathBuf,

    /// Width of the terminal, columns
    #[arg(long, default_value_t = 120)]
    columns: u16,

    /// Lines to draw, from the first
    #[arg(long, default_value_t = 40)]
    lines: usize,
}

const TEXT: RgbColor = RgbColor(0xe6, 0xe6, 0xe6);
const PAPER: RgbColor = RgbColor(0x1c, 0x1f, 0x24);

fn main() {
    or_exit(draw(&Arguments::parse()));
}

fn draw(arguments: &Arguments) -> Result<(), String> {
    let Arguments { common, recording, picture, columns, lines } = arguments;
    let (memtoll, recording) = (common.memtoll.display(), recording.display());
    // A report is as wide as its terminal, so it gets one.
    let report = format!("stty cols {columns}; exec '{memtoll}' report --color always '{recording}'");
    let printed = CommandLine::new(["script", "--quiet", "--return", "--command", &report, "/dev/null"]).output()?;
    let prompt = format!("$ memtoll report {recording}\n\n");
    let shown: Vec<&str> = printed.lines().map(|line| line.trim_end_matches('\r')).take(*lines).collect();
    let terminal = Term::new().fg_color(Color::Rgb(TEXT)).bg_color(Color::Rgb(PAPER));
    let drawn = terminal.render_svg(&(prompt + shown.join("\n").trim_end() + "\n"));
    std::fs::write(picture, drawn).map_err(|error| format!("cannot write {}: {error}", picture.display()))
}
