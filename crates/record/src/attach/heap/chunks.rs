//! The chunks of an arena, one after the other.

use super::arena::Arena;
use super::copy::{Copy, word_of};
use super::{Block, FLAGS, HEADER, IS_MAPPED, OF_OTHER_ARENA, PREVIOUS_IN_USE, SMALLEST};

/// Chunks at the end of a full heap, which nothing was made from: of this size, bytes.
const FENCE: u64 = 16;

/// Adds the blocks of an arena that look used.
pub fn walk(copy: &Copy, arena: &Arena, blocks: &mut Vec<Block>) -> Result<(), String> {
    for &(first, end) in &arena.spans {
        walk_span(copy, arena, first, end, blocks).ok_or("the headers of its heap do not fit together")?;
    }
    Ok(())
}

/// None: a header is not plausible.
fn walk_span(copy: &Copy, arena: &Arena, first: u64, end: u64, blocks: &mut Vec<Block>) -> Option<()> {
    let has_top = end == arena.top;
    if first == end {
        return Some(());
    }
    let bytes = copy.from(first)?;
    let head = |address: u64| word_of(bytes, (address - first) as usize + 8);
    let mut at = first;
    while at != end {
        let own = head(at)?;
        let size = own & !FLAGS;
        if !has_top && is_end(own, at, end) {
            return Some(());
        }
        let next = at.checked_add(size).filter(|next| *next <= end && size.is_multiple_of(FENCE))?;
        if !has_top && (FENCE..=SMALLEST).contains(&size) && own & OF_OTHER_ARENA == 0 && is_end(head(next)?, next, end)
        {
            return Some(());
        }
        if size < SMALLEST || own & IS_MAPPED != 0 {
            return None;
        }
        let behind = head(next)?;
        if behind & PREVIOUS_IN_USE != 0 {
            if (own & OF_OTHER_ARENA == 0) != arena.is_main {
                return None;
            }
            blocks.push(Block { address: at + HEADER, bytes: size - 8 });
        } else if word_of(bytes, (next - first) as usize)? != size {
            // A free chunk says its size at its end, too.
            return None;
        }
        at = next;
    }
    has_top.then_some(())
}

/// Whether the header is the last one of a heap that is full.
fn is_end(head: u64, at: u64, end: u64) -> bool {
    head == PREVIOUS_IN_USE && at + HEADER == end
}
