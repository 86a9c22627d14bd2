//! What to change where the C library makes blocks for its own use: the line can only call it less often.

use crate::facts::{Draft, Facts, Language};
use crate::finding::Confidence;
use memtoll_analysis::c_library_blocks::{Entered, entered};

/// Rewrites what a rule says of such blocks: only the call can go.
pub fn tell(facts: &Facts, draft: &mut Draft) {
    let site = draft.subject(facts);
    // Of a line as a whole, each part has a call of its own.
    let Some(node) = site.nodes.first().filter(|_| draft.line.is_none() && draft.place.is_none()) else { return };
    let Some(Entered { function, library }) = entered(facts.recording, *node, site.row.frame) else { return };
    draft.evidence.text.insert(0, format!("{function} ({library}) makes them for itself, below a call of this line"));
    draft.change = format!("Call {function} less often, or keep what it gave");
    draft.snippet = match facts.language(site) {
        Language::Rust => format!("// before the loop, or once for the program: {function}"),
        Language::Cxx | Language::C => format!("result = {function}(...); /* once, outside of the loop */"),
    };
    (draft.remedy, draft.called, draft.proposes) = (None, None, 0);
    draft.assumptions = vec![format!("{function} gives the same each time, or is needed less often")];
    draft.at_most = draft.at_most.min(Confidence::Medium);
}
