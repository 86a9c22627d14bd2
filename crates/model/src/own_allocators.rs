//! What readers must know of allocators inside a program: which calls are missing, which figures are not known, what to do.

use crate::Image;
use memtoll_text::format;
use memtoll_trace::meta::{Exit, OwnAllocator, RecordedCalls};
use memtoll_trace::path::last_part;

/// Statements about a recording.
#[derive(Default)]
pub(crate) struct Statements {
    /// That calls are missing which the program itself makes.
    pub missing: Vec<String>,
    /// That a library has an allocator for itself.
    pub notes: Vec<String>,
}

/// What the figures are that need frees.
const UNKNOWN: &str = "live bytes, the peak, lifetimes and never freed blocks are not known";

/// Those about these images; what is said of several is said once.
pub(crate) fn statements<'i>(images: impl IntoIterator<Item = &'i Image>) -> Statements {
    let mut found = Statements::default();
    let mut add = |is_programs: bool, text: String| {
        let list = if is_programs { &mut found.missing } else { &mut found.notes };
        if !list.contains(&text) {
            list.push(text);
        }
    };
    let images: Vec<&Image> = images.into_iter().collect();
    // A process that only forks others may call nothing.
    let all = || images.iter().flat_map(|image| &image.own_allocators.allocators);
    let was_called = |own: &OwnAllocator| all().any(|other| other.is_the_same(own) && other.answered.calls > 0);
    for image in &images {
        let has_work = image.end.as_ref().is_some_and(|end| end.exit != Exit::Exec);
        let may_be_copied = |own: &&OwnAllocator| has_work && may_be_copied(own) && !was_called(own);
        for own in image.own_allocators.allocators.iter().filter(may_be_copied) {
            add(false, of_no_calls(own));
        }
        for own in image.own_allocators.allocators.iter().filter(|own| own.recorded != RecordedCalls::All) {
            add(own.file == image.about.executable, statement(own));
        }
        let is_explained = image.own_allocators.allocators.iter().any(OwnAllocator::hides_frees);
        if image.own_allocators.reuse_unfreed_blocks() && !is_explained {
            add(true, of_reused_blocks(image));
        }
    }
    found
}

/// What to do about it.
pub const REMEDY: &str = "keep its symbols (strip -g; Cargo.toml: strip = \"debuginfo\"), link it as a shared library, or use the \
                          system's allocator";

/// That calls of an allocator are missing, and what to do.
fn statement(own: &OwnAllocator) -> String {
    format!("{}. To record all: {REMEDY}", what_is_missing(own))
}

/// Which calls of an allocator are missing, and what is not known therefore.
pub fn what_is_missing(own: &OwnAllocator) -> String {
    let (file, name) = (last_part(&own.file), &own.name);
    let why = own.why.as_ref().map_or(String::new(), |why| format!(" ({why})"));
    match own.recorded {
        RecordedCalls::All => format!("{file} contains {name}: its calls are recorded"),
        RecordedCalls::OfOtherFiles => format!(
            "{file} contains {name}, and its calls of malloc and free bypass memtoll{why}: only calls from libraries are \
             recorded, and {UNKNOWN}"
        ),
        RecordedCalls::None => format!(
            "{file} contains {name}, whose calls bypass memtoll{why}: blocks from it are not recorded, only those from the C \
             library's malloc"
        ),
    }
}

/// Whether it is one of the program's source, which compilers copy into its callers, and nothing called it.
fn may_be_copied(own: &OwnAllocator) -> bool {
    own.recorded == RecordedCalls::All && own.answered.calls == 0 && own.name.ends_with("of its own")
}

fn of_no_calls(own: &OwnAllocator) -> String {
    format!(
        "{} contains {}, which nothing called: where the compiler copied it into its callers (inlining, LTO), memtoll records no \
         call; build it with __attribute__((noinline))",
        last_part(&own.file),
        own.name
    )
}

fn of_reused_blocks(image: &Image) -> String {
    format!(
        "process {} ({}) freed blocks without memtoll: the allocator handed out the addresses of {} again; {UNKNOWN}",
        image.about.pid,
        image.about.name,
        format::counted(image.own_allocators.unfreed_reused, "block")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_says_what_is_missing_and_what_to_do() {
        let own = |recorded| OwnAllocator {
            file: "/opt/app/server".to_owned(),
            name: "jemalloc".to_owned(),
            is_exported: recorded == RecordedCalls::OfOtherFiles,
            recorded,
            why: None,
            answered: Default::default(),
        };
        let of_libraries = own(RecordedCalls::OfOtherFiles);
        assert!(of_libraries.hides_frees());
        let text = statement(&of_libraries);
        assert!(
            text.starts_with("server contains jemalloc, and its calls of malloc and free bypass memtoll: "),
            "{text}"
        );
        assert!(text.contains("never freed blocks are not known. To record all: "), "{text}");
        let none = own(RecordedCalls::None);
        assert!(!none.hides_frees(), "its blocks are freed by itself");
        assert!(statement(&none).contains("blocks from it are not recorded"));
        assert!(!own(RecordedCalls::All).hides_frees());
        let refused = OwnAllocator { why: Some("its text cannot be written".to_owned()), ..none };
        assert!(statement(&refused).contains("bypass memtoll (its text cannot be written): "));
    }
}
