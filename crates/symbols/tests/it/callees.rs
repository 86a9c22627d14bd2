//! Which function a call calls, read from the code.

use crate::common::*;
use memtoll_symbols::{AllocatorCode, Callee, ModuleFile, Resolver, calls_allocator};
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol};
use std::fs;
use std::path::Path;

const SOURCE: &str = "#include <stdlib.h>\n\
    struct box { int references; void *more; };\n\
    __attribute__((noinline)) void drop(struct box *it) {\n\
        if (--it->references == 0) free(it->more);\n\
    }\n\
    int main(void) {\n\
        struct box it = {1, 0};\n\
        drop(&it);\n\
        it.more = getenv(\"NOTHING\");\n\
        free(it.more);\n\
        return 0;\n\
    }\n";

/// Where calls of `main` return to: addresses in the file.
fn returns(program: &Path) -> Vec<u64> {
    let bytes = fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let main = file.symbols().find(|symbol| symbol.name() == Ok("main")).unwrap();
    let section = file.section_by_index(main.section_index().unwrap()).unwrap();
    let code = section.data_range(main.address(), main.size()).unwrap().unwrap();
    let ends = (5..=code.len())
        .filter(|end| code[end - 5] == 0xe8 || code[end.saturating_sub(6)..].starts_with(&[0xff, 0x15]));
    ends.map(|end| main.address() + end as u64).collect()
}

/// What all calls of `main` call, as far as that is known.
fn callees(program: &Path, id: &[u8]) -> Vec<Callee> {
    let module = ModuleFile { path: program, build_id: id };
    returns(program).into_iter().filter_map(|returns_to| Resolver::new().callee(&module, returns_to - 1)).collect()
}

/// calloc ends with a jump to memset, which then returns to the caller of calloc.
#[test]
fn calls_of_allocation_functions_are_told_from_others() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("calls.c");
    let program = folder.path().join("calls");
    // No `drop`: of two calls, one is the allocator's.
    fs::write(&source, SOURCE.replace("drop(&it);", "")).unwrap();
    for options in [&["-fPIE", "-pie"][..], &["-fno-plt", "-fPIE", "-pie"], &["-no-pie"]] {
        run("gcc", &[&["-O1", "-g", text(&source), "-o", text(&program)], options].concat());
        let bytes = fs::read(&program).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let offset = |address: u64| {
            let of = |segment: object::Segment| {
                let within = address.checked_sub(segment.address())?;
                (within < segment.file_range().1).then(|| segment.file_range().0 + within)
            };
            file.segments().find_map(of).unwrap()
        };
        let own = AllocatorCode::default();
        let all: Vec<bool> =
            returns(&program).into_iter().map(|address| calls_allocator(&program, offset(address), &own)).collect();
        assert_eq!(all.iter().filter(|is| **is).count(), 1, "{options:?}: {all:?}");
        assert!(all.len() > 1, "{all:?}");
    }
    assert!(!calls_allocator(&folder.path().join("gone"), 1, &AllocatorCode::default()));
}

#[test]
fn calls_tell_whom_they_call() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("calls.c");
    fs::write(&source, SOURCE).unwrap();
    for options in [&["-fPIE", "-pie"][..], &["-fno-plt", "-fPIE", "-pie"], &["-fcf-protection=full", "-Wl,-z,ibtplt"]]
    {
        let program = folder.path().join("calls");
        let fixed = ["-O1", "-g", "-Wl,--build-id=sha1", text(&source), "-o", text(&program)];
        run("gcc", &[&fixed, options].concat());
        let found = callees(&program, &build_id(&program));
        let own = found.iter().find_map(|callee| match callee {
            Callee::Own { frame, .. } => Some((frame.function.as_str(), frame.line)),
            Callee::Other(_) => None,
        });
        // Where it begins with an instruction of its own, that is of the line with its name.
        assert!(matches!(own, Some(("drop", Some(3 | 4)))), "{options:?}: {found:?}");
        for name in ["free", "getenv"] {
            assert!(found.contains(&Callee::Other(name.to_owned())), "{options:?}: {found:?}");
        }
        assert!(callees(&program, &[1; 20]).is_empty(), "another file");
    }
}
