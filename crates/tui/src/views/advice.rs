//! What to change, and what that saves.

use crate::colors::{BOLD, SOFT};
use crate::draw::paragraph;
use crate::fitted_text::fit_name;
use memtoll_advise::{Advice, Finding, Saving, verified};
use memtoll_text::Quantity;
use memtoll_text::visible;
use ratatui::text::{Line, Span};

/// The savings that are shown.
const SHOWN: [Saving; 5] = [Saving::Cpu, Saving::Wall, Saving::Peak, Saving::ResidentPeak, Saving::ResidentEnd];

/// All of it.
pub fn lines(advice: &Advice, width: usize) -> Vec<Line<'static>> {
    let mut text = vec![Line::styled("What to change (of the whole run)", BOLD)];
    if advice.findings.is_empty() {
        text.push(Line::styled("No change that memtoll knows of is worth it.", SOFT));
    }
    for (number, finding) in advice.findings.iter().enumerate() {
        text.extend(one(number + 1, finding, width));
    }
    text
}

fn one(number: usize, finding: &Finding, width: usize) -> Vec<Line<'static>> {
    let file = finding.file.as_deref().map(|file| file.rsplit('/').next().unwrap_or(file));
    let place = match (file, finding.line) {
        (Some(file), Some(line)) => format!(" ({file}:{line})"),
        (Some(file), None) => format!(" ({file})"),
        _ => String::new(),
    };
    let head = format!("{number}. {}  ", finding.rule);
    let room = width.saturating_sub(head.len());
    let name = fit_name(&visible(&format!("{}{place}", finding.function)), room);
    let mut text = vec![Line::from(vec![Span::styled(head, BOLD), Span::raw(name)])];
    let saves: Vec<String> = SHOWN
        .into_iter()
        .filter_map(|saving| Some(format!("{} {}", saving.title(), finding.saves.amount(saving)?)))
        .collect();
    text.extend(paragraph("   saves ", &saves.join("; "), width));
    if let Some(found) = &finding.verified {
        text.extend(paragraph("   verified ", &verified(found), width));
    }
    text.extend(paragraph("   ", &finding.change, width));
    text
}
