//! What `make install` and release packages install: a binary without symbols, its debug files if there are any, manual
//! pages that mandoc accepts, completions that the shells load.

use memtoll_e2e::{Outcome, memtoll, run, scratch, workspace};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use tempfile::TempDir;

#[track_caller]
fn successful(program: &str, arguments: &[&str], directory: &Path) -> Outcome {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory);
    let outcome = run(command);
    assert!(outcome.status.success(), "{program} {arguments:?}: {outcome:?}");
    outcome
}

/// DESTDIR, with all installed below /usr.
static INSTALLED: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = scratch();
    let built = folder.path().join("built");
    fs::create_dir(&built).unwrap();
    fs::copy(memtoll(), built.join("memtoll")).unwrap();
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    successful("tools/split-debug", &[&path(&built.join("memtoll"))], &workspace());
    fs::write(built.join("libmemtoll.so.debug"), "of the recorder").unwrap();
    let destination = path(&folder.path().join("to"));
    successful("tools/install", &[&path(&built), "/usr", &destination], &workspace());
    folder
});

/// All commands of `memtoll --help`.
fn commands() -> Vec<String> {
    let help = successful(memtoll().to_str().unwrap(), &["--help"], INSTALLED.path()).stdout;
    let lines = help.lines().skip_while(|line| *line != "Record and look:").take_while(|line| *line != "Options:");
    let is_name = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let names = lines.filter(is_name).filter_map(|line| line.split_whitespace().next());
    let names: Vec<String> = names.map(str::to_owned).collect();
    assert!(["record", "report", "diff"].iter().all(|name| names.iter().any(|one| one == name)), "{help}");
    names
}

/// The long options in the help of a command; none: those of memtoll itself.
fn options_of(command: Option<&str>) -> BTreeSet<String> {
    let words: Vec<&str> = command.into_iter().chain(["--help"]).collect();
    let help = successful(memtoll().to_str().unwrap(), &words, INSTALLED.path()).stdout;
    let starts = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let words = starts.flat_map(|line| line.split([' ', ',', '=', '[']).filter(|word| word.starts_with("--")));
    words.filter(|word| word.len() > 2).map(str::to_owned).collect()
}

fn installed(path: &str) -> PathBuf {
    INSTALLED.path().join("to/usr").join(path)
}

#[test]
fn debug_files_are_beside_the_binary() {
    let binary = installed("bin/memtoll");
    let debug = installed("bin/.debug/memtoll.debug");
    let sections = |file: &Path| successful("readelf", &["-SW", file.to_str().unwrap()], INSTALLED.path()).stdout;
    assert!(sections(&debug).contains(" .symtab "));
    assert!(!sections(&binary).contains(" .symtab "));
    let link = successful("readelf", &["-p", ".gnu_debuglink", binary.to_str().unwrap()], INSTALLED.path());
    assert!(link.stdout.contains("memtoll.debug"), "{link:?}");
    assert!(installed("bin/.debug/libmemtoll.so.debug").exists());
    let version = successful(binary.to_str().unwrap(), &["--version"], INSTALLED.path());
    assert!(version.stdout.starts_with("memtoll "), "{version:?}");
}

/// `make build` leaves no debug information; a build without it installs no debug files.
#[test]
fn a_build_without_debug_files_installs_none() {
    let folder = scratch();
    let built = folder.path().join("built");
    fs::create_dir(&built).unwrap();
    std::os::unix::fs::symlink(memtoll(), built.join("memtoll")).unwrap();
    let destination = folder.path().join("to");
    let words = [built.to_str().unwrap(), "/usr", destination.to_str().unwrap()];
    successful("tools/install", &words, &workspace());
    assert!(destination.join("usr/bin/memtoll").exists());
    assert!(destination.join("usr/share/man/man1/memtoll.1").exists());
    assert!(!destination.join("usr/bin/.debug").exists());
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    for command in [None].into_iter().chain(commands().iter().map(|name| Some(name.as_str()))) {
        let suffix = command.map_or(String::new(), |name| format!("-{name}"));
        let page = installed(&format!("share/man/man1/memtoll{suffix}.1"));
        let page = page.to_str().unwrap();
        successful("mandoc", &["-Tlint", "-Werror", page], INSTALLED.path());
        let shown = successful("mandoc", &["-Tascii", page], INSTALLED.path()).stdout;
        // Bold letters are struck twice.
        let shown = shown.chars().fold(String::new(), |mut text, letter| {
            if letter == '\x08' {
                text.pop();
            } else {
                text.push(letter)
            }
            text
        });
        for heading in ["NAME", "SYNOPSIS", "DESCRIPTION", if command.is_none() { "EXIT STATUS" } else { "OPTIONS" }] {
            assert!(shown.contains(&format!("\n{heading}\n")), "{page} has no {heading}: {shown}");
        }
        for option in options_of(command) {
            assert!(shown.contains(&option), "{page} lacks {option}");
        }
    }
}

#[test]
fn shells_complete_commands_and_options() {
    let folder = INSTALLED.path();
    let bash = installed("share/bash-completion/completions/memtoll");
    let script =
        "source \"$0\"; COMP_WORDS=(memtoll rec); COMP_CWORD=1; _memtoll memtoll rec memtoll; echo ${COMPREPLY[@]}";
    let reply = successful("bash", &["--norc", "-c", script, bash.to_str().unwrap()], folder);
    assert_eq!((reply.stdout.as_str(), reply.stderr.as_str()), ("record\n", ""));

    let zsh = installed("share/zsh/site-functions");
    let script =
        "fpath=(\"$1\" $fpath); autoload -Uz compinit; compinit -u -D; print $_comps[memtoll]; autoload +X _memtoll";
    let reply = successful("zsh", &["-f", "-c", script, "zsh", zsh.to_str().unwrap()], folder);
    assert_eq!((reply.stdout.trim(), reply.stderr.as_str()), ("_memtoll", ""));

    let fish = installed("share/fish/vendor_completions.d/memtoll.fish");
    let script = format!("source {}; complete -C 'memtoll rec'; complete -C 'memtoll record --pro'", fish.display());
    let mut command = Command::new("fish");
    command.args(["--no-config", "-c", &script]).env("HOME", folder).current_dir(folder);
    let reply = run(command);
    let words: Vec<&str> = reply.stdout.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(words, ["record", "--progress"], "{reply:?}");
}

/// Options that a shell offers for a command are those in its help.
#[track_caller]
fn offers(shell: &str, command: &str, reply: &Outcome) {
    assert_eq!(reply.stderr, "", "{shell}, {command}");
    let words = reply.stdout.split_whitespace().map(|word| word.split(['=', '[', '+']).next().unwrap_or(word));
    let offered: BTreeSet<String> =
        words.filter(|word| word.starts_with("--") && word.len() > 2).map(str::to_owned).collect();
    assert_eq!(offered, options_of(Some(command)), "{shell}, {command}");
}

#[test]
fn shells_complete_the_options_of_every_command() {
    let folder = INSTALLED.path();
    let bash = installed("share/bash-completion/completions/memtoll");
    let zsh = installed("share/zsh/site-functions/_memtoll");
    let fish = installed("share/fish/vendor_completions.d/memtoll.fish");
    for command in commands() {
        let script = r#"source "$0"; COMP_WORDS=(memtoll "$1" --); COMP_CWORD=2; _memtoll memtoll -- "$1"
                        printf '%s\n' "${COMPREPLY[@]}""#;
        let reply = successful("bash", &["--norc", "-c", script, bash.to_str().unwrap(), &command], folder);
        offers("bash", &command, &reply);

        // In the place of the shell's own function: the first call finds the command, the next one is for its options, one
        // to an argument, as in `(-o --out)*--out=[Write there]`.
        let script = r#"
            _arguments() {
                if [[ -z $state ]]; then state=memtoll; line=($wanted); words=(memtoll $wanted); return 0; fi
                local spec
                for spec; do
                    spec=${spec#\(*\)}; spec=${spec#\*}
                    [[ $spec == --* ]] && print -r -- ${spec%%[=\[+]*}
                done
            }
            compdef() { :; }
            wanted=$2
            source $1
            _memtoll
            true"#;
        let reply = successful("zsh", &["-f", "-c", script, "zsh", zsh.to_str().unwrap(), &command], folder);
        offers("zsh", &command, &reply);

        let script = format!("source {}; complete -C 'memtoll {command} --'", fish.display());
        let mut fish = Command::new("fish");
        fish.args(["--no-config", "-c", &script]).env("HOME", folder).current_dir(folder);
        // What stands behind an option is its help, after a tab.
        let mut reply = run(fish);
        reply.stdout = reply.stdout.lines().filter_map(|line| line.split('\t').next()).collect::<Vec<_>>().join("\n");
        offers("fish", &command, &reply);
    }
}

#[test]
fn compilers_find_the_headers() {
    let folder = installed("include");
    let program = "#include <memtoll.h>\n#include <memtoll/string_pool.hpp>\nint main() { memtoll_mark(\"here\"); }\n";
    let source = INSTALLED.path().join("includes.cpp");
    fs::write(&source, program).unwrap();
    let words = ["-std=c++20", "-fsyntax-only", "-I", folder.to_str().unwrap(), source.to_str().unwrap()];
    successful("g++", &words, INSTALLED.path());
}
