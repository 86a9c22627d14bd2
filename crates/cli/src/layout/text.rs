//! A layout as text.

use memtoll_model::layout::{CACHE_LINE, Hole, Kind, Layout, Member, Role};
use memtoll_query::layout::{Instances, TypeLayout};
use memtoll_text::format::{bytes, count, counted, percent};
use std::fmt::Write;

/// The whole answer.
pub fn text(shown: &TypeLayout) -> String {
    let layout = &shown.layout;
    let mut text = heading(shown);
    text += "\n  offset    size  member\n";
    let mut holes = shown.holes.iter().flatten().peekable();
    let mut line = 0;
    for member in &layout.members {
        while let Some(hole) = holes.next_if(|hole| hole.bit_offset < member.bit_offset) {
            text += &padding(hole, &mut line);
        }
        text += &boundary(member.offset(), &mut line);
        text += &row(member);
    }
    holes.for_each(|hole| text += &padding(hole, &mut line));
    if layout.members.is_empty() {
        text += "  (no members)\n";
    }
    text + &better(shown)
}

/// `struct app::Row: 48 bytes, aligned to 8, 1 cache line, 14 bytes of padding (29.2 %)`.
fn heading(shown: &TypeLayout) -> String {
    let layout = &shown.layout;
    let kind = match layout.kind {
        Kind::Struct => "struct",
        Kind::Class => "class",
        Kind::Union => "union",
        Kind::Enum => "enum",
    };
    let packed = if layout.is_packed { "packed" } else { "" };
    let padding = match shown.padding_bits {
        None => "padding not known".to_owned(),
        Some(0) => "no padding".to_owned(),
        Some(bits) => format!("{} of padding ({})", bit_text(bits), percent(bits, layout.size.saturating_mul(8))),
    };
    let facts = [
        counted(layout.size, "byte"),
        packed.to_owned(),
        format!("aligned to {}", layout.alignment),
        counted(shown.cache_lines, "cache line"),
        padding,
    ];
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    let mut text = format!("{kind} {}: {}\n", layout.name, facts.join(", "));
    if let Some(file) = &layout.file {
        let line = layout.line.map_or(String::new(), |line| format!(":{line}"));
        let _ = writeln!(text, "  {file}{line}");
    }
    if let Some(instances) = &shown.instances {
        let least = least(instances);
        let _ = match instances.at_peak {
            0 => writeln!(text, "  the recording knows of no instance that was live at the peak"),
            number => {
                let blocks = bytes(instances.bytes_at_peak);
                writeln!(text, "  {least}{} live at the peak, in blocks of {blocks}", counted(number, "instance"))
            }
        };
    }
    text
}

/// What stands before numbers that come from the number of instances.
fn least(of: &Instances) -> &'static str {
    if of.is_least { "at least " } else { "" }
}

/// `3 bytes`, `5 bits`, `3 bytes 5 bits`.
fn bit_text(bits: u64) -> String {
    let parts = [(bits / 8, "byte"), (bits % 8, "bit")];
    let some = parts.into_iter().filter(|(number, _)| *number > 0);
    some.map(|(number, thing)| counted(number, thing)).collect::<Vec<_>>().join(" ")
}

/// A line before the first member that begins in a further cache line. The cache line itself may begin inside the member
/// before that.
fn boundary(offset: u64, line: &mut u64) -> String {
    let (now, inside) = (offset / CACHE_LINE, offset % CACHE_LINE);
    if now <= *line {
        return String::new();
    }
    *line = now;
    let began = if inside > 0 { format!(" began {} earlier", counted(inside, "byte")) } else { String::new() };
    format!("  ------- cache line {}{began} -------\n", count(now))
}

fn padding(hole: &Hole, line: &mut u64) -> String {
    let mut text = boundary(hole.bit_offset / 8, line);
    let (at, size) = (hole.bit_offset / 8, hole.bits / 8);
    let what = if hole.bits.is_multiple_of(8) {
        "(padding)".to_owned()
    } else {
        format!("(padding: {})", bit_text(hole.bits))
    };
    let _ = writeln!(text, "  {at:6}  {size:6}  {what}");
    text
}

fn row(member: &Member) -> String {
    let size = match (member.role, member.bit_size) {
        (Role::BitField, Some(bits)) => format!("{bits} b"),
        (_, Some(bits)) => count(bits / 8),
        (_, None) => "?".to_owned(),
    };
    let bit = match member.bit_offset % 8 {
        0 => String::new(),
        bit => format!("  (bit {bit})"),
    };
    let at = if member.role == Role::VirtualBase { "?".to_owned() } else { member.offset().to_string() };
    format!("  {at:>6}  {size:>6}  {}{bit}\n", described(member))
}

/// `double value`, `(base) app::Shape`.
fn described(member: &Member) -> String {
    let name = member.name.as_deref().unwrap_or("");
    match member.role {
        Role::Base => format!("(base) {}", member.type_name),
        Role::VirtualBase => format!("(virtual base, placed by the most derived class) {}", member.type_name),
        Role::VirtualTable => "(pointer to virtual functions)".to_owned(),
        Role::Variant => format!("(variant) {name} {}", member.type_name).trim_end().to_owned(),
        Role::Field | Role::BitField => format!("{} {name}", member.type_name).trim_end().to_owned(),
    }
}

/// The better order, and what it saves.
fn better(shown: &TypeLayout) -> String {
    let layout: &Layout = &shown.layout;
    let Some(better) = &shown.better else {
        let is_plain = matches!(layout.kind, Kind::Struct | Kind::Class) && !layout.is_packed;
        return if is_plain { "\nNo order of these members takes less.\n".to_owned() } else { String::new() };
    };
    let share = percent(better.saves, layout.size);
    let mut text = format!(
        "\nThis order takes {}, {} less ({share}):\n",
        counted(better.size, "byte"),
        counted(better.saves, "byte")
    );
    for index in &better.order {
        let member = &layout.members[*index];
        let bits = match (member.role, member.bit_size) {
            (Role::BitField, Some(bits)) => format!(" : {bits}"),
            _ => String::new(),
        };
        let _ = writeln!(text, "    {}{bits}", described(member));
    }
    if let (Some(saves), Some(instances)) = (better.saves_at_peak.filter(|saves| *saves > 0), &shown.instances) {
        let (least, number) = (least(instances), counted(instances.at_peak, "instance"));
        let _ = writeln!(text, "It saves {least}{} at the peak, in {least}{number}.", bytes(saves));
    }
    text + "The order of members is the order of their initialization, and part of a library's interface.\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_query::layout::Better;

    #[test]
    fn what_an_order_saves_is_as_well_known_as_the_number_of_instances() {
        let layout = Layout {
            name: "Row".to_owned(),
            kind: Kind::Struct,
            size: 24,
            alignment: 8,
            is_packed: false,
            file: None,
            line: None,
            members: Vec::new(),
        };
        let mut shown = TypeLayout::new(layout);
        shown.better = Some(Better { order: Vec::new(), size: 16, saves: 8, saves_at_peak: Some(40) });
        for (is_least, expected) in [
            (false, "It saves 40 B at the peak, in 5 instances."),
            (true, "It saves at least 40 B at the peak, in at least 5 instances."),
        ] {
            shown.instances = Some(Instances { at_peak: 5, bytes_at_peak: 120, is_least, ..Instances::default() });
            let text = better(&shown);
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn a_cache_line_is_where_it_begins() {
        let mut line = 0;
        let said = [0, 60, 64, 72, 136, 256].map(|offset| boundary(offset, &mut line));
        let expected = ["", "", "cache line 1", "", "cache line 2 began 8 bytes earlier", "cache line 4"];
        let expected =
            expected.map(|text| if text.is_empty() { String::new() } else { format!("  ------- {text} -------\n") });
        assert_eq!(said, expected);
    }
}
