//! An order of members that takes less. What the compiler puts first, base classes and the pointer to virtual functions,
//! stays where it is; fields go by alignment, largest first, after the small ones that fill what the first part leaves.
//! Neighboring bit-fields stay together, as they share their bytes.

use serde::Serialize;

use super::{Kind, Layout, Member, Role};

/// Another order, and what it takes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Better {
    /// Indices of [`Layout::members`], in the better order.
    pub order: Vec<usize>,
    /// The size then, bytes.
    pub size: u64,
}

/// Members that stay together.
struct Group {
    members: Vec<usize>,
    size: u64,
    alignment: u64,
}

/// A better order, where members can change places and that saves something.
pub(super) fn better(layout: &Layout) -> Option<Better> {
    let can_move = matches!(layout.kind, Kind::Struct | Kind::Class) && !layout.is_packed;
    let is_fixed = |member: &Member| matches!(member.role, Role::Base | Role::VirtualTable);
    let is_odd =
        |member: &Member| matches!(member.role, Role::VirtualBase | Role::Variant) || member.bit_size.is_none();
    if !can_move || layout.members.iter().any(is_odd) || overlaps(&layout.members) {
        return None;
    }
    // An array without a length has to be the last one.
    let is_open = |member: &Member| member.bit_size == Some(0);
    if layout.members.iter().any(|member| is_open(member) && !is_fixed(member)) {
        return None;
    }
    let fixed: Vec<usize> = (0..layout.members.len()).filter(|index| is_fixed(&layout.members[*index])).collect();
    let groups = groups(&layout.members, &is_fixed);
    let first = groups.iter().map(|group| layout.members[group.members[0]].offset()).min()?;
    let fixed_end = fixed.iter().map(|index| layout.members[*index].bit_end().div_ceil(8)).max().unwrap_or(0);
    // A field may lie in the padding at the end of a base class.
    let begin = if fixed.is_empty() { 0 } else { fixed_end.min(first) };
    let (order, end) = arrange(groups, begin);
    let size = end.next_multiple_of(layout.alignment.max(1));
    (size < layout.size).then(|| Better { order: fixed.into_iter().chain(order).collect(), size })
}

fn overlaps(members: &[Member]) -> bool {
    let mut end = 0;
    members.iter().any(|member| {
        let is_over = member.bit_offset < end && member.role != Role::Base;
        end = end.max(if member.role == Role::Base { end } else { member.bit_end() });
        is_over
    })
}

/// Fields, and runs of bit-fields.
fn groups(members: &[Member], is_fixed: &dyn Fn(&Member) -> bool) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut in_run = false;
    for (index, member) in members.iter().enumerate() {
        if is_fixed(member) {
            in_run = false;
            continue;
        }
        let is_bits = member.role == Role::BitField;
        match groups.last_mut() {
            Some(run) if is_bits && in_run => {
                run.members.push(index);
                run.alignment = run.alignment.max(member.alignment);
                run.size = bytes_of_run(run.members.iter().map(|index| &members[*index]));
            }
            _ => {
                let size = member.bit_end().div_ceil(8) - member.offset();
                groups.push(Group { members: vec![index], size, alignment: member.alignment.max(1) });
            }
        }
        in_run = is_bits;
    }
    groups
}

/// What bit-fields take that begin where all their types may: none crosses a boundary of its type.
fn bytes_of_run<'m>(members: impl Iterator<Item = &'m Member>) -> u64 {
    let mut end = 0;
    for member in members {
        let (bits, unit) = (member.bit_size.unwrap_or(0), member.alignment.max(1) * 8);
        if end % unit + bits > unit {
            end = u64::next_multiple_of(end, unit);
        }
        end += bits;
    }
    end.div_ceil(8)
}

/// Puts groups one after the other from `begin` on; gives their members, and where the last one ends.
fn arrange(mut groups: Vec<Group>, begin: u64) -> (Vec<usize>, u64) {
    // Stable: fields of one alignment stay in the order of the source.
    groups.sort_by_key(|group| std::cmp::Reverse(group.alignment));
    let mut order = Vec::new();
    let mut end = begin;
    while !groups.is_empty() {
        // What the next one would leave free is for those that fit into it.
        let next = end.next_multiple_of(groups[0].alignment);
        let fits = |group: &Group| end.next_multiple_of(group.alignment) + group.size <= next && next > end;
        let at = groups.iter().position(fits).unwrap_or(0);
        let group = groups.remove(at);
        end = end.next_multiple_of(group.alignment) + group.size;
        order.extend(group.members);
    }
    (order, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(offset: u64, size: u64, alignment: u64) -> Member {
        let (bit_offset, bit_size) = (offset * 8, Some(size * 8));
        Member { name: None, type_name: String::new(), role: Role::Field, bit_offset, bit_size, alignment }
    }

    fn of(size: u64, alignment: u64, members: Vec<Member>) -> Layout {
        let (name, kind) = (String::new(), Kind::Struct);
        Layout { name, kind, size, alignment, is_packed: false, file: None, line: None, members }
    }

    #[test]
    fn large_alignments_come_first() {
        let layout = of(24, 8, vec![field(0, 1, 1), field(8, 8, 8), field(16, 2, 2)]);
        assert_eq!(layout.better(), Some(Better { order: vec![1, 2, 0], size: 16 }));
        assert_eq!(layout.padding_bits(), Some(13 * 8));
        assert_eq!(of(16, 8, vec![field(0, 8, 8), field(8, 1, 1)]).better(), None);
    }

    #[test]
    fn what_a_base_leaves_is_filled() {
        let base = Member { role: Role::Base, ..field(0, 12, 4) };
        let layout = of(32, 8, vec![base, field(16, 8, 8), field(24, 4, 4)]);
        assert_eq!(layout.better(), Some(Better { order: vec![0, 2, 1], size: 24 }));
    }

    #[test]
    fn bit_fields_stay_together_and_unions_as_they_are() {
        let bits =
            |bit_offset, bits| Member { role: Role::BitField, bit_offset, bit_size: Some(bits), ..field(0, 0, 4) };
        let layout = of(24, 8, vec![bits(0, 3), bits(3, 7), field(8, 8, 8), field(16, 4, 4)]);
        assert_eq!(layout.better(), Some(Better { order: vec![2, 0, 1, 3], size: 16 }));
        assert_eq!(Layout { kind: Kind::Union, ..layout.clone() }.better(), None);
        assert_eq!(Layout { is_packed: true, ..layout }.better(), None);
    }
}
