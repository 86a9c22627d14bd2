//! What the screen shows when a recording has ended.

use crate::debug_file_options;
use crate::exit;
use crate::output::Screen;
use memtoll_model::Recording;
use memtoll_query::{Query, ask};
use memtoll_record::{Outcome, is_first_time};
use memtoll_report::{first_screen, next_command};
use memtoll_text::shell;
use std::path::Path;

/// Prints it.
pub fn print(path: &Path, outcome: &Outcome, quiet: bool) {
    if outcome.is_lost {
        let file = path.display();
        exit::say(format!("the recording is lost: {file} was removed or replaced while the program ran"));
        return;
    }
    if outcome.events > 0 && !quiet {
        match Recording::open(path) {
            Ok(recording) => {
                // The process ends soon and needs no memory.
                let mut recording = std::mem::ManuallyDrop::new(recording);
                // They keep no program waiting at its end.
                recording.findings.asked = debug_file_options::servers_to_ask();
                let asked = ask(&recording, &Query { findings: true, ..Query::default() });
                let Ok(answer) = asked.map_err(exit::say) else { return };
                let width = Screen::stderr_width();
                Screen::print_to_stderr(&format!("\n{}", first_screen::render(&answer, width)));
                // On a full disk, the file does not say why it ends.
                let shown = |note: &&String| recording.notes.contains(note) || recording.missing.contains(note);
                for note in outcome.notes.iter().filter(|note| !shown(note)) {
                    exit::say(note);
                }
                let room = width.unwrap_or(usize::MAX).saturating_sub(exit::WHO.len());
                exit::say(next_command::last_line(&answer, room));
                if recording.calibration.is_none() && is_first_time("calibrate") {
                    exit::say(
                        "times are from one recorded run; record --calibrate measures the program without the recorder, too",
                    );
                }
            }
            Err(error) => exit::say(error),
        }
        return;
    }
    for note in &outcome.notes {
        exit::say(note);
    }
    if !quiet && path.exists() {
        exit::say(format!("what the kernel counted: memtoll report {}", shell::file(path)));
    }
}
