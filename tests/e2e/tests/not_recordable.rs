//! Programs into which no recorder can be brought: they run as ever, and one line says why nothing was recorded.

use memtoll_e2e::{Recording, Target, install, is_root, memtoll, program, program_with, run, target_directory};
use memtoll_processor::HERE;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

/// `target` runs as it does plainly, and exactly one line of memtoll's has all of `words`.
fn is_explained(target: &Target, words: &[&str]) -> Recording {
    let recording = target.record();
    let lines = recording.outcome.stderr_lines_with(words);
    assert_eq!(lines.len(), 1, "one line with {words:?}; {:?}", recording.outcome);
    recording
}

#[test]
fn a_static_program() {
    let tiny = program_with("tiny.c", &["-O2", "-static"]);
    let recording = is_explained(&Target::new(tiny).arg("7"), &["static", "nothing was recorded"]);
    assert_eq!((recording.outcome.status.code(), &*recording.outcome.stdout), (Some(7), "done\n"));
    let report = recording.report_with(&[]);
    assert_eq!((report.totals.events, report.totals.metrics.new_blocks), (0, 0));
}

#[test]
fn a_static_program_that_starts_others() {
    let (starts, tiny) = (program_with("starts.c", &["-O2", "-static"]), program("tiny.c"));
    let recording = Target::new(&starts).arg("posix_spawn").arg(&tiny).record();
    let report = recording.report();
    report.expect_new_blocks(&[("work", 42), ("starter_work", 0)]);
    let name = starts.to_str().unwrap();
    let text = recording.text(&[]);
    let is_said =
        |line: &str| ["the program itself is not recorded", name, "static"].iter().all(|word| line.contains(word));
    assert!(text.replace("\n      ", " ").lines().any(is_said), "{name}: {text}");
    // After the run, too.
    let said = recording.outcome.stderr_lines_with(&["the program itself is not recorded", "static"]);
    assert!(!said.is_empty(), "{name}: {:?}", recording.outcome);
}

#[test]
fn a_static_program_among_others() {
    let (fixed, tiny) = (program_with("tiny.c", &["-O2", "-static"]), program("tiny.c"));
    let recording = Target::shell("\"$1\" && \"$2\" 3", &[&fixed, &tiny]).record();
    assert_eq!(recording.outcome.status.code(), Some(3));
    assert_eq!(recording.report().new_blocks("work"), 42);
    let words = [fixed.to_str().unwrap(), "started by process", "is not recorded", "statically linked"];
    assert_eq!(recording.outcome.stderr_lines_with(&words).len(), 1, "{:?}", recording.outcome);
}

#[test]
fn a_32_bit_program() {
    let flags = ["-O2", "-m32", "-static", "-nostdlib", "-fno-pie", "-no-pie", "-fno-stack-protector"];
    let recording = is_explained(&Target::new(program_with("bare32.c", &flags)), &["64-bit", "nothing was recorded"]);
    assert_eq!((recording.outcome.status.code(), &*recording.outcome.stdout), (Some(9), "thirty-two\n"));
}

#[test]
fn a_32_bit_program_among_others() {
    let flags = ["-O2", "-m32", "-static", "-nostdlib", "-fno-pie", "-no-pie", "-fno-stack-protector"];
    let (other, tiny) = (program_with("bare32.c", &flags), program("tiny.c"));
    let recording = Target::shell("\"$1\"; \"$2\" 3", &[&other, &tiny]).record();
    assert_eq!(recording.outcome.status.code(), Some(3));
    assert_eq!(recording.report().new_blocks("work"), 42);
}

#[test]
fn a_program_of_another_libc() {
    let folder = target_directory().join("e2e/other-libc");
    std::fs::create_dir_all(&folder).unwrap();
    let loader = folder.join("ld-other.so.1");
    install(Path::new(HERE.musl_loader), &loader);
    let loaded_by = format!("-Wl,--dynamic-linker={}", loader.display());
    let program = program_with("tiny.c", &["-O2", "musl-gcc", &loaded_by]);
    let recording = is_explained(&Target::new(program).arg("7"), &["another C library", "nothing was recorded"]);
    assert_eq!((recording.outcome.status.code(), &*recording.outcome.stdout), (Some(7), "done\n"));
}

/// A program with a loader and a C library of its own, which lacks one of the versions that the recorder needs: with the
/// recorder preloaded, it would not start.
#[test]
fn a_program_of_an_older_libc() {
    const VERSION: &[u8] = b"GLIBC_2.17\0";
    let folder = target_directory().join("e2e/older-libc");
    std::fs::create_dir_all(&folder).unwrap();
    let [loader, library] = [HERE.loader_name(), "libc.so.6"].map(|name| folder.join(name));
    let system = Path::new(HERE.loader).canonicalize().unwrap();
    install(&system, &loader);
    let mut bytes = std::fs::read(system.with_file_name("libc.so.6")).unwrap();
    let at = bytes.windows(VERSION.len()).position(|bytes| bytes == VERSION).expect("the C library has this version");
    bytes[at + 6] = b'9';
    let patched = folder.join("patched");
    std::fs::write(&patched, bytes).unwrap();
    install(&patched, &library);
    let loaded_by = format!("-Wl,--dynamic-linker={}", loader.display());
    let tiny = program_with("tiny.c", &["-O2", &loaded_by, &format!("-Wl,-rpath,{}", folder.display())]);

    let words = [tiny.to_str().unwrap(), library.to_str().unwrap(), "GLIBC_2.17", "nothing was recorded"];
    let recording = is_explained(&Target::new(&tiny).arg("7"), &words);
    assert_eq!((recording.outcome.status.code(), &*recording.outcome.stdout), (Some(7), "done\n"));

    let mut doctor = Command::new(memtoll());
    doctor.arg("doctor").arg(&tiny);
    let doctor = run(doctor);
    assert!(doctor.stdout.contains("it lacks GLIBC_2.17"), "{doctor:?}");
}

#[test]
fn programs_with_a_sanitizer() {
    for (flag, library) in [("-fsanitize=address", "libasan"), ("-fsanitize=thread", "libtsan")] {
        let sanitized = program_with("tiny.c", &["-O2", flag]);
        let target = Target::new(&sanitized).arg("7").env("ASAN_OPTIONS", "detect_leaks=0");
        let recording = is_explained(&target, &[library, "nothing was recorded"]);
        assert_eq!((recording.outcome.status.code(), &*recording.outcome.stdout), (Some(7), "done\n"));

        let target = Target::shell("\"$1\" && \"$2\" 3", &[&sanitized, &program("tiny.c")]);
        let recording = target.env("ASAN_OPTIONS", "detect_leaks=0").record();
        assert_eq!(recording.outcome.status.code(), Some(3));
        assert_eq!(recording.report().new_blocks("work"), 42);
        assert_eq!(recording.outcome.stderr_lines_with(&["is not recorded", "sanitizer"]).len(), 1, "{flag}");
    }
}

#[test]
fn a_setuid_program() {
    // A program that changes the user when it starts: for root one of another user's, for others one of root's.
    const NOBODY: u32 = 65_534;
    let target = if is_root() {
        let copy = target_directory().join("e2e/identity-setuid");
        install(&program("identity.c"), &copy);
        chown(&copy, Some(NOBODY), Some(NOBODY)).unwrap();
        // Not before: a change of the owner takes it away.
        std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o4755)).unwrap();
        Target::new(copy)
    } else {
        assert!(Path::new("/usr/bin/mount").exists(), "a set-user-id program of root's is needed");
        Target::new("/usr/bin/mount").arg("--version")
    };
    let recording = is_explained(&target, &["set-user-id", "nothing was recorded"]);
    if is_root() {
        assert!(recording.outcome.stdout.contains("effective user 65534\n"), "{:?}", recording.outcome);
        assert_eq!(recording.outcome.status.code(), Some(6));
    }
}

#[test]
fn a_script_is_recorded_as_its_interpreter() {
    let directory = memtoll_e2e::scratch();
    let [text, script] = ["text", "script"].map(|name| directory.path().join(name));
    std::fs::write(&text, format!("#!/bin/sh\n'{}' 3\n", program("tiny.c").display())).unwrap();
    install(&text, &script);
    let recording = Target::new(&script).record();
    assert_eq!(recording.outcome.status.code(), Some(3));
    assert_eq!(recording.report().new_blocks("work"), 42);
}

#[test]
fn a_program_that_cannot_start_leaves_no_recording() {
    let directory = memtoll_e2e::scratch();
    let [text, script, file] = ["text", "script", "run.memtoll"].map(|name| directory.path().join(name));
    std::fs::write(&text, "#!/no/such/interpreter\n").unwrap();
    install(&text, &script);
    let record = |option: &[&str], program: &Path| {
        let mut command = Command::new(memtoll());
        command.args(["record", "-q"]).args(option).arg("-o").arg(&file).arg("--").arg(program);
        run(command)
    };
    let refused = |option: &[&str]| {
        let outcome = record(option, &script);
        assert_eq!(outcome.status.code(), Some(127), "{outcome:?}");
        assert!(outcome.stderr.contains("/no/such/interpreter, which is not there"), "{outcome:?}");
    };
    refused(&[]);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
    // Nor does it cost an older one.
    assert!(record(&[], &program("tiny.c")).status.success());
    let older = std::fs::read(&file).unwrap();
    refused(&["--force"]);
    assert!(std::fs::read(&file).unwrap() == older);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 3);
}
