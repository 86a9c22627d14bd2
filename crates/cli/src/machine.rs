//! `memtoll machine`

use crate::chart_file::ChartFile;
use crate::exit::{Code, Failure};
use crate::output::{Printing, TextOrJson};
use crate::size_option::parse_size;
use crate::wait_messages::Waiting;
use memtoll_machine::{ChartFormat, Error, Progress, Report, Settings, chart, measure, text};
use std::path::{Path, PathBuf};

/// Measure what memory costs on this machine
///
/// Takes memory, touches it and gives it back in every way the machine offers: touching every byte, or one byte in
/// 64 KiB; for the first time, or again; in one thread, or in several. Ends with advice. Takes less than a minute.
#[derive(clap::Args)]
pub struct Arguments {
    /// Use blocks of this size [default: 300M; with --quick: 16M]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    size: Option<u64>,

    /// Use this many threads where several share memory [default: one per processor, from 2 to 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=256))]
    threads: Option<u16>,

    /// Measure for only 5 seconds
    #[arg(long)]
    quick: bool,

    /// Draw a chart to this file (.svg or .png)
    #[arg(long, value_name = "FILE")]
    chart: Option<PathBuf>,

    #[command(flatten)]
    printing: Printing<TextOrJson>,
}

impl Arguments {
    fn settings(&self) -> Settings {
        let mut settings = if self.quick { Settings::quick() } else { Settings::thorough() };
        settings.size = self.size.unwrap_or(settings.size);
        settings.threads = self.threads.map_or(settings.threads, usize::from);
        settings
    }
}

/// The format of a chart, by the end of its name.
fn format_of(path: &Path) -> Result<ChartFormat, Failure> {
    ChartFormat::of(path).ok_or_else(|| {
        let text = format!("expected a chart's name to end in .svg or .png, found {}", path.display());
        Code::Usage.because(text)
    })
}

/// Measures, with a line on standard error that says how far it is.
fn measure_visibly(settings: &Settings) -> Result<Report, Error> {
    let waiting = Waiting::new("measuring");
    let all = settings.time.as_secs();
    measure(settings, |now: &Progress| waiting.tell(format!("of about {all} s, round {}: {}", now.round, now.way)))
}

pub fn run(arguments: &Arguments) -> Code {
    match show(arguments) {
        Ok(code) => code,
        Err(failure) => failure.say(),
    }
}

fn show(arguments: &Arguments) -> Result<Code, Failure> {
    let settings = arguments.settings();
    let wrong = |error: Error| match error {
        Error::TooSmall { .. } | Error::TooLarge { .. } => Code::Usage.because(format!("--size: {error}")),
        error => Code::Failed.because(error),
    };
    settings.check().map_err(wrong)?;
    let format = arguments.chart.as_deref().map(format_of).transpose()?;
    let file = arguments.chart.as_deref().map(ChartFile::check).transpose()?;
    let report = measure_visibly(&settings).map_err(wrong)?;
    let screen = arguments.printing.screen();
    let shown = match arguments.printing.format {
        TextOrJson::Text => text(&report, screen.width),
        TextOrJson::Json => report.json(),
    };
    let code = screen.print(&shown);
    if let (Some(file), Some(format)) = (file, format) {
        file.write(&chart(&report, format).map_err(|error| file.failed(error))?)?;
    }
    Ok(code)
}
