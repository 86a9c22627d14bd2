//! What memory costs of the CPU time, the worst lines, what to change.

use super::{Known, Shown, advice, lines};
use crate::colors::{BOLD, SOFT};
use crate::cpu_time_parts::{Part, parts};
use crate::draw::{Pane, columns_of, paragraph};
use crate::fitted_text::wrapped;
use crate::keys::Action;
use crate::question::Question;
use crate::scrolled_rows::Scroll;
use memtoll_analysis::balance::Balance;
use memtoll_analysis::estimate::Estimate;
use memtoll_query::{Answer, Shown as Found};
use ratatui::text::{Line, Span};

/// Lines that are listed.
const WORST: usize = 5;

#[derive(Default)]
pub struct OverviewView {
    scroll: Scroll,
}

impl OverviewView {
    pub fn draw(&mut self, shown: &Shown, mut pane: Pane) {
        let Some((answer, balance)) = shown.answer(&shown.state.overview(), &mut pane) else { return };
        let width = pane.width();
        let mut text = balance.map(|balance| costs(balance, width)).unwrap_or_default();
        text.extend(memory(answer, shown, width));
        text.push(Line::default());
        text.extend(worst(answer, shown, width));
        text.push(Line::default());
        match shown.known(&Question::Advice) {
            Known::Advice(found) => text.extend(advice::lines(found, width)),
            Known::Nothing(why) => text.extend(paragraph("", &why, width)),
            _ => text.push(Line::styled("looking for what to change …", SOFT)),
        }
        text.push(Line::default());
        text.extend(findings(answer, width));
        let top = self.scroll.window(text.len(), pane.height());
        pane.lines(&text, top);
    }

    /// Scrolls.
    pub fn act(&mut self, action: Action) -> bool {
        self.scroll.act(action)
    }
}

/// The bar that adds up, and what its parts are.
fn costs(balance: &Balance, width: usize) -> Vec<Line<'static>> {
    let parts = parts(balance);
    let memory = balance.explained();
    let costs = memory.known_time();
    let heading = match balance.program() {
        Some(all) => {
            format!("What memory costs: {costs} of {} CPU time ({})", all.known_time(), memory.share_of(all.value))
        }
        None => format!("What memory costs: {costs} (the kernel did not tell the CPU time)"),
    };
    let program = balance.program().map(|program| program.value);
    let mut text = vec![Line::styled(heading, BOLD)];
    let columns = columns_of(&parts.iter().map(|part| part.time.value).collect::<Vec<_>>(), width);
    let piece = |(part, columns): (&Part, usize)| Span::styled(part.kind.fill().repeat(columns), part.kind.style());
    text.push(parts.iter().zip(columns).map(piece).collect::<Vec<_>>().into());
    for part in &parts {
        let mut line = vec![
            Span::styled(part.kind.fill().repeat(2), part.kind.style()),
            Span::raw(format!(" {:20} {:>9}", part.name, part.time.known_time())),
        ];
        if let Some(all) = program {
            // Shares add up.
            line.push(Span::raw(format!(" {:>9}", Estimate::exact(part.time.value).share_of(all))));
        }
        if part.time.margin() > 0.0 {
            line.push(Span::styled(format!("  ({})", part.time.time_with_error()), SOFT));
        }
        text.push(line.into());
    }
    if parts.last().is_some_and(|rest| rest.time.value < 0.0) {
        text.push(Line::styled("The parts are more than the CPU time: see their errors.", SOFT));
    }
    if let Some(recorder) = balance.recorder.filter(|time| time.value > 0.0) {
        let took = recorder.time_with_error();
        text.push(Line::styled(format!("Recorder overhead: {took} (not included above)."), SOFT));
    }
    text
}

/// What the program did with memory.
fn memory(answer: &Answer, shown: &Shown, width: usize) -> Vec<Line<'static>> {
    use memtoll_analysis::metric::Metric::{Allocations, Bytes, Live, Peak, Waiting};
    let Some(totals) = &answer.totals else { return Vec::new() };
    let number = |metric| totals.figures.of(metric).map(|_| lines::value(&totals.figures, metric));
    let ends_with_run = shown.state.span.is_none_or(|span| span.to_ns.is_none());
    let kept = if ends_with_run { shown.recording.kept().words() } else { totals.titles.of_all(Live) };
    let all =
        [(Allocations, "allocations"), (Bytes, "asked for"), (Peak, "at the peak"), (Live, kept), (Waiting, "waiting")];
    let words: Vec<String> =
        all.iter().filter_map(|(metric, name)| Some(format!("{} {name}", number(*metric)?))).collect();
    wrapped(&words.join(" · "), width).into_iter().map(|line| Line::styled(line, SOFT)).collect()
}

fn worst(answer: &Answer, shown: &Shown, width: usize) -> Vec<Line<'static>> {
    let Found::Table(table) = &answer.shown else { return Vec::new() };
    let metric = shown.state.metric;
    let heading = format!("Worst lines by {}{}", metric.about().title, lines::shares_of(answer, metric));
    let mut text = vec![Line::styled(heading, BOLD)];
    let rows = table.sites.iter().take(WORST).map(|row| lines::line(row, (answer, shown), width, &[]));
    text.extend(rows);
    if table.sites.is_empty() {
        text.push(Line::styled("No line allocates anything here.", SOFT));
    }
    text
}

fn findings(answer: &Answer, width: usize) -> Vec<Line<'static>> {
    let found = answer.findings.iter().flatten().filter(|finding| !finding.is_note);
    let sentences = found.flat_map(|finding| {
        let heads = std::iter::once("· ").chain(std::iter::repeat("  · "));
        heads.zip(finding.sentences())
    });
    let mut text: Vec<Line> = sentences.flat_map(|(head, text)| paragraph(head, text, width)).collect();
    if !text.is_empty() {
        text.insert(0, Line::styled("Findings", BOLD));
    }
    text
}
