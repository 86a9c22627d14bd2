//! One color and one character per kind of cost, the same in every view: who sees no colors reads the characters.

use ratatui::style::{Color, Modifier, Style};

/// A kind of cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Page faults without zeroing.
    Faults,
    /// Zeroing of pages.
    Zeroing,
    /// Work on mappings.
    Mapping,
    /// The allocator's own work.
    Allocator,
    /// Faults that are charged to no line.
    OtherFaults,
    Waiting,
    /// The program's own work.
    Program,
    /// Off the CPU.
    Off,
}

impl Kind {
    /// Told apart by people who confuse colors.
    pub fn style(self) -> Style {
        Style::new().fg(Color::Indexed(match self {
            Kind::Faults => 32,
            Kind::Zeroing => 117,
            Kind::Mapping => 36,
            Kind::Allocator => 214,
            Kind::OtherFaults => 227,
            Kind::Waiting => 175,
            Kind::Program | Kind::Off => 244,
        }))
    }

    /// What fills its part of a bar.
    pub fn fill(self) -> &'static str {
        match self {
            Kind::Faults => "█",
            Kind::Zeroing => "▓",
            Kind::Mapping => "▒",
            Kind::Allocator => "■",
            Kind::OtherFaults => "+",
            Kind::Waiting => "w",
            Kind::Program => "░",
            Kind::Off => "·",
        }
    }
}

/// What is less important.
pub const SOFT: Style = Style::new().fg(Color::Indexed(245));
/// Headings.
pub const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
/// Where the cursor is, and what is selected.
pub const CURSOR: Style = Style::new().add_modifier(Modifier::REVERSED);
/// What the search finds.
pub const FOUND: Style = Style::new().add_modifier(Modifier::UNDERLINED).add_modifier(Modifier::BOLD);
pub const BAR: Style = Style::new().fg(Color::Indexed(67));
