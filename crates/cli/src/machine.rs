//! `memtoll machine`

use crate::exit::{Code, Failure};
use crate::output::{Printing, TextOrJson};
use crate::record::parse_size;
use crate::wait_messages::Waiting;
use memtoll_machine::{ChartFormat, Error, Progress, Report, Settings, chart, measure, text};
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

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

/// A chart to come. What can be wrong with its file shows before the measuring, and an old chart stays until there is a
/// new one.
struct ChartFile<'a> {
    path: &'a Path,
    format: ChartFormat,
}

impl ChartFile<'_> {
    fn check(path: &Path) -> Result<ChartFile<'_>, Failure> {
        let format = ChartFormat::of(path).ok_or_else(|| {
            let text = format!("expected a chart's name to end in .svg or .png, found {}", path.display());
            Code::Usage.because(text)
        })?;
        let file = ChartFile { path, format };
        if path.is_dir() {
            return Err(file.failed("it is a directory"));
        }
        if !file.folder().is_dir() {
            return Err(file.failed(format!("there is no directory {}", file.folder().display())));
        }
        // The draft's own name tells a user nothing.
        match file.draft() {
            Ok(_) => Ok(file),
            Err(error) => Err(file.failed(io::Error::from(error.kind()))),
        }
    }

    fn folder(&self) -> &Path {
        self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// A file in the same folder, which goes when it is dropped.
    fn draft(&self) -> io::Result<NamedTempFile> {
        tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(self.folder())
    }

    fn write(&self, report: &Report) -> Result<(), Failure> {
        let content = chart(report, self.format).map_err(|error| self.failed(error))?;
        let mut draft = self.draft().map_err(|error| self.failed(error))?;
        draft.write_all(&content).map_err(|error| self.failed(error))?;
        draft.persist(self.path).map(drop).map_err(|error| self.failed(error.error))
    }

    fn failed(&self, why: impl std::fmt::Display) -> Failure {
        let path = self.path.display();
        Code::Failed.because(format!("cannot write the chart {path}: {why}; choose another place with --chart FILE"))
    }
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
    let file = arguments.chart.as_deref().map(ChartFile::check).transpose()?;
    let report = measure_visibly(&settings).map_err(wrong)?;
    let screen = arguments.printing.screen();
    let shown = match arguments.printing.format {
        TextOrJson::Text => text(&report, screen.width),
        TextOrJson::Json => report.json(),
    };
    let code = screen.print(&shown);
    if let Some(file) = file {
        file.write(&report)?;
    }
    Ok(code)
}
