//! Real programs with deterministic work, and how to make their inputs.

use crate::run::CommandLine;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that is measured.
pub struct Program {
    /// Short name.
    pub name: &'static str,
    /// How to run it.
    pub command: CommandLine,
    /// One of our own, for which other limits hold than for the real programs.
    pub is_loop: bool,
}

fn program(name: &'static str, command: CommandLine) -> Program {
    Program { name, command, is_loop: false }
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

/// Compiles one of the programs of this folder.
pub fn compile(compiler: &str, arguments: &[&str], source: &str, output: &Path) -> Result<(), String> {
    let status = Command::new(compiler).args(arguments).arg("-o").arg(output).arg(sources().join(source)).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{compiler} cannot compile {source}: {status}")),
        Err(error) => Err(format!("cannot run {compiler}: {error}")),
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn printed_by_gcc(option: &str) -> Result<String, String> {
    let output = Command::new("g++").arg(option).output().map_err(|error| format!("cannot run g++: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The compiler proper, which g++ starts: it is the process with the events.
fn cc1plus(options: &[&str], source: &str) -> Result<CommandLine, String> {
    let mut words = vec![printed_by_gcc("-print-prog-name=cc1plus")?, "-quiet".into(), "-D_GNU_SOURCE".into()];
    let multiarch = printed_by_gcc("-print-multiarch")?;
    if !multiarch.is_empty() {
        words.extend(["-imultiarch".into(), multiarch]);
    }
    words.extend(["-std=c++20".to_owned(), text(&sources().join(source))]);
    words.extend(options.iter().map(|&option| option.to_owned()));
    Ok(CommandLine::new(words))
}

/// The compiler proper with heavy headers.
pub fn heavy_cc1plus() -> Result<CommandLine, String> {
    cc1plus(&["-fsyntax-only", "-o", "/dev/null"], "heavy.cpp")
}

/// A JSON file of `records` records.
fn json_input(records: u32) -> String {
    let mut out = String::from("[");
    for i in 0..records {
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(
            out,
            "{comma}{{\"id\":{i},\"name\":\"name {i}\",\"tags\":[\"a\",\"b\",\"tag{}\"],\"at\":{{\"x\":{}.5,\"y\":[{i},{}]}}}}",
            i % 97,
            i * 3,
            i + 1
        );
    }
    out + "]\n"
}

/// Statements for sqlite3: a table, an index, a few queries.
fn sql_input(rows: u32) -> String {
    let mut out = String::from("create table t(id integer primary key, name text, v integer);\nbegin;\n");
    for i in 0..rows {
        let _ = writeln!(out, "insert into t(name, v) values('name {i}', {});", i * 7919 % 1000);
    }
    out + "commit;\ncreate index i on t(v);\nselect v, count(*), max(name) from t group by v order by 2 desc limit 20;\n\
           select count(*) from t a join t b on a.v = b.v and a.id < b.id;\n"
}

fn write(path: &Path, content: &str) -> Result<(), String> {
    fs::write(path, content).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// End-to-end programs that do what is hard to unwind, each as `gcc -O0` to `-O3` and with frame pointers compile it.
pub fn hard_programs(folder: &Path) -> Result<Vec<(String, CommandLine)>, String> {
    const SOURCES: [&str; 14] = [
        "alarm.c", "bad_alloc.cpp", "containers.cpp", "coroutines.cpp", "deep_recursion.c", "exceptions.cpp",
        "fibers.c", "frames.cpp", "hammer.c", "inlined.cpp", "longjmp.c", "longjmp_from_signal.c", "signal_stack.c",
        "tail_calls.c",
    ];
    const FLAGS: [&[&str]; 5] = [&["-O0"], &["-O1"], &["-O2"], &["-O3"], &["-O2", "-fno-omit-frame-pointer"]];
    let mut made = Vec::new();
    for source in SOURCES {
        for flags in FLAGS {
            let name = format!("{source} {}", flags.join(" "));
            let output = folder.join(name.replace(' ', ""));
            let (compiler, standard) =
                if source.ends_with(".cpp") { ("g++", "-std=c++20") } else { ("gcc", "-std=gnu11") };
            let arguments = [&[standard, "-g", "-w", "-pthread"], flags].concat();
            compile(compiler, &arguments, &format!("../../tests/e2e/programs/{source}"), &output)?;
            made.push((name, CommandLine::new([text(&output)])));
        }
    }
    Ok(made)
}

/// Compiles the loop of malloc/free pairs; how it is called stands in its source.
pub fn deep_loop(folder: &Path) -> Result<PathBuf, String> {
    let deep = folder.join("deep_loop");
    let include = format!("-I{}", text(&sources().join("../../remedies/include")));
    compile("g++", &["-O2", "-g", "-pthread", &include], "deep_loop.cpp", &deep)?;
    Ok(deep)
}

/// Compiles the program of `make bench-growth`; how it is called stands in its source.
pub fn many(folder: &Path) -> Result<PathBuf, String> {
    let many = folder.join("many");
    let include = format!("-I{}", text(&sources().join("../../remedies/include")));
    compile("g++", &["-std=c++17", "-O2", "-g", "-pthread", &include], "many.cpp", &many)?;
    Ok(many)
}

/// The programs of `make check-lost-blocks`: those of known truth, by how they leave blocks, and real ones.
pub fn leaving_programs(folder: &Path) -> Result<Vec<Program>, String> {
    const WAYS: [&str; 6] = ["lists", "kept", "last", "stack", "variable", "thread"];
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let lost = folder.join("lost");
    compile("gcc", &["-std=gnu11", "-O1", "-g", "-w", "-pthread"], "../../tests/e2e/programs/lost.c", &lost)?;
    let (json, script) = (folder.join("small.json"), folder.join("list.cmake"));
    write(&json, &json_input(500))?;
    write(&script, "foreach(i RANGE 1000)\n  list(APPEND all ${i})\nendforeach()\nlist(SORT all)\n")?;
    let mut programs: Vec<Program> = WAYS
        .into_iter()
        .map(|way| Program { is_loop: true, ..program(way, CommandLine::new([text(&lost), way.to_owned()])) })
        .collect();
    const SQL: &str = "create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 2000) \
                       insert into t select x, hex(x) from c; create index i on t(b); select count(*) from t;";
    const JSON: &str = "import json; json.dumps([{str(i): i} for i in range(1000)])";
    const HASH: &str = "my %h; $h{$_} = \"x\" x $_ for 1..500; print scalar(keys %h)";
    let python = |code| CommandLine::new(["/usr/bin/python3", "-c", code]).with("PYTHONMALLOC", "malloc");
    programs.extend([
        program("git log", CommandLine::new(["git", "log", "-20", "--stat"])),
        program("sqlite3", CommandLine::new(["sqlite3", ":memory:", SQL])),
        program("python3", python("pass")),
        program("python3 json", python(JSON)),
        program("perl", CommandLine::new(["perl", "-e", HASH])),
        program("bash", CommandLine::new(["bash", "-c", "a=(); for i in 1 2 3; do a+=($i); done; echo ${a[@]}"])),
        program("sort", CommandLine::new(["sort", "/etc/passwd"])),
        program("jq", CommandLine::new(["jq", "[.[] | {name, tags}] | group_by(.tags) | length", &text(&json)])),
        program("ripgrep", CommandLine::new(["rg", "-j1", "--count", "tags", &text(&json)])),
        program("cmake", CommandLine::new(["cmake", "-P", &text(&script)])),
        program("cc1plus", cc1plus(&["-fsyntax-only", "-o", "/dev/null"], "heavy.cpp")?),
    ]);
    Ok(programs)
}

/// The programs of `make bench`.
pub fn bench_programs(folder: &Path) -> Result<Vec<Program>, String> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let deep = deep_loop(folder)?;
    let maps = folder.join("maps");
    compile("rustc", &["-C", "opt-level=3", "-g", "--edition=2024"], "maps.rs", &maps)?;
    let json = folder.join("input.json");
    write(&json, &json_input(20_000))?;
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let python = text(&sources().join("json_work.py"));
    Ok(vec![
        Program { name: "deep loop", command: CommandLine::new([text(&deep), "5000000".into()]), is_loop: true },
        Program {
            name: "deep loop, 2 threads",
            command: CommandLine::new([text(&deep), "2500000".into(), "2".into()]),
            is_loop: true,
        },
        program("python3 json", CommandLine::new(["/usr/bin/python3", &python]).with("PYTHONMALLOC", "malloc")),
        program("cc1plus", heavy_cc1plus()?),
        program(
            "git log -p",
            CommandLine::new(["git", "-C", &text(&repository), "--no-pager", "log", "-p", "--stat", "-M"]),
        ),
        program(
            "jq",
            CommandLine::new([
                "jq",
                "[.[] | {name, y: .at.y[1], tags: (.tags | join(\"-\"))}] | group_by(.tags) | length",
                &text(&json),
            ]),
        ),
        program("rust maps", CommandLine::new([text(&maps)])),
    ])
}

/// The programs of `make check-counts`: one process each, and the same allocations in every run (which compilers do not
/// have: their hash tables depend on addresses).
pub fn count_programs(folder: &Path) -> Result<Vec<Program>, String> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let (json, sql) = (folder.join("small.json"), folder.join("small.sql"));
    write(&json, &json_input(500))?;
    write(&sql, &sql_input(2000))?;
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let out = fs::canonicalize(folder).map_err(|e| e.to_string())?;
    let made = Command::new("make")
        .args(["--silent", "--directory"])
        .arg(repository.join("casestudies/terminal"))
        .arg(format!("OUT={}", out.display()))
        .arg(out.join("terminal-before"))
        .status();
    if !made.is_ok_and(|status| status.success()) {
        return Err("cannot build casestudies/terminal".to_owned());
    }
    Ok(vec![
        program(
            "terminal",
            CommandLine::new([
                text(&folder.join("terminal-before")),
                text(&repository.join("casestudies/terminal/README.md")),
            ]),
        ),
        program("sqlite3", CommandLine::new(["sqlite3", "-batch", ":memory:", &format!(".read {}", text(&sql))])),
        program("cmake (C++)", CommandLine::new(["cmake", "-P", &text(&sources().join("strings.cmake"))])),
        program("ripgrep (Rust)", CommandLine::new(["rg", "-j1", "--no-config", "-c", "name 1[0-9]*", &text(&sql)])),
        program("sort", CommandLine::new(["sort", "--parallel=1", "-k2", &text(&sql)]).with("LC_ALL", "C.UTF-8")),
        program("jq", CommandLine::new(["jq", "-c", "map({name, y: .at.y[1]}) | length", &text(&json)])),
        program(
            "python3",
            CommandLine::new([
                "/usr/bin/python3",
                "-S",
                "-I",
                "-c",
                "import json; print(len(json.dumps([{'a': i} for i in range(2000)])))",
            ])
            .with("PYTHONMALLOC", "malloc")
            .with("PYTHONHASHSEED", "0"),
        ),
        program(
            "perl",
            CommandLine::new(["perl", "-e", "my %h; $h{$_ % 1000} .= $_ for 1..20000; print scalar keys %h"])
                .with("PERL_HASH_SEED", "0"),
        ),
        program("git", CommandLine::new(["git", "-C", &text(&repository), "--no-pager", "log", "--oneline", "--stat"])),
    ])
}

/// Programs from elsewhere, for `make predictions`: none has a word that a shell would read as anything else.
pub fn tuned_programs(folder: &Path) -> Result<Vec<Program>, String> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let folder = fs::canonicalize(folder).map_err(|error| error.to_string())?;
    let at = |name: &str| folder.join(name);
    write(&at("input.json"), &json_input(20_000))?;
    write(&at("groups.jq"), "[.[] | {name, y: .at.y[1], tags: (.tags | join(\"-\"))}] | group_by(.tags) | length\n")?;
    write(&at("tuned.sql"), &sql_input(60_000))?;
    write(&at("words.pl"), WORDS)?;
    let options = cc1plus(&["-fsyntax-only", "-o", "/dev/null"], "heavy.cpp")?.words;
    let words: Vec<String> = options.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (compiler, options) = words.split_first().ok_or("an empty command")?;
    write(&at("heavy.options"), &options.join("\n"))?;
    let repository = text(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    let file = |name: &str| text(&at(name));
    Ok(vec![
        program(
            "git log -p",
            CommandLine::new(["git", "-C", &repository, "--no-pager", "log", "-p", "--stat", "-M", "-n", "60"]),
        ),
        program("jq", CommandLine::new(["jq", "-f", &file("groups.jq"), &file("input.json")])),
        program(
            "python3",
            CommandLine::new(["/usr/bin/python3", &text(&sources().join("json_work.py"))])
                .with("PYTHONMALLOC", "malloc")
                .with("PYTHONHASHSEED", "0"),
        ),
        program("perl", CommandLine::new(["perl", &file("words.pl")]).with("PERL_HASH_SEED", "0")),
        program("sqlite3", CommandLine::new(["sqlite3", "-batch", "-init", &file("tuned.sql"), ":memory:", ".quit"])),
        program("cc1plus", CommandLine::new([compiler.as_str(), &format!("@{}", file("heavy.options"))])),
    ])
}

/// Makes, sorts and splits words, in Perl.
const WORDS: &str = "my %h; for my $i (1..300000) { $h{'key'.($i*7919%50003)} .= \"value$i \"; } my $n = 0; \
                     for (sort keys %h) { $n += scalar(split / /, $h{$_}); } print \"$n\\n\"";

/// A program of `make check-costs`, or why it is not run.
pub type Cost = Result<Program, (&'static str, String)>;

/// The programs of `make check-costs`.
pub fn cost_programs(folder: &Path) -> Result<Vec<Cost>, String> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let folder = fs::canonicalize(folder).map_err(|error| error.to_string())?;
    let (json, sql) = (folder.join("input.json"), folder.join("costs.sql"));
    write(&json, &json_input(20_000))?;
    write(&sql, &sql_input(60_000))?;
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // A server and its clients; what they work on is always the same.
    let redis = "redis-server --port 0 --unixsocket \"$0\" --save '' --daemonize no & server=$!\n\
        sleep 0.5\n\
        redis-benchmark -s \"$0\" -n 60000 -r 60000 -d 200 -q -t set,lpush,hset\n\
        redis-cli -s \"$0\" shutdown nosave\n\
        wait $server";
    let needs = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    let have = |tools: &[&str], program: Program| match tools.iter().find(|tool| !needs(tool)) {
        None => Ok(program),
        Some(tool) => Err((program.name, format!("there is no {tool} here"))),
    };
    let git = ["git", "-C", &text(&repository), "--no-pager", "log", "-p", "--stat", "-M"].map(str::to_owned);
    let (times, maps) = (folder.join("time_costs"), folder.join("maps"));
    compile("g++", &["-O2", "-g", "-pthread", "-std=c++20"], "time_costs.cpp", &times)?;
    compile("rustc", &["-C", "opt-level=3", "-g", "--edition=2024"], "maps.rs", &maps)?;
    let timed = |&(name, arguments): &(&'static str, &[&str])| {
        let words = [text(&times)].into_iter().chain(arguments.iter().map(|&word| word.to_owned()));
        Ok(program(name, CommandLine::new(words)))
    };
    // One compiler, in the foreground: then runs differ by 0.1 % in their page faults. What Java compiles in the background
    // depends on when it gets to it. The compilers' memory made plain runs differ by a quarter, from 27,600 to 34,800 faults.
    let words = text(&sources().join("Words.java"));
    let java = ["java", "-Xbatch", "-XX:-TieredCompilation", "-XX:+UseSerialGC", "-Xmx256m", &words];
    let perl = program("perl", CommandLine::new(["perl", "-e", WORDS]).with("PERL_HASH_SEED", "0"));
    let rust = program("rust maps", CommandLine::new([text(&maps)]));
    let mut all: Vec<Cost> = TIMED.iter().map(timed).chain([have(&["rustc"], rust)]).collect();
    all.extend([
        have(&["perl"], perl),
        have(
            &["/usr/bin/python3"],
            program(
                "python3",
                CommandLine::new(["/usr/bin/python3", &text(&sources().join("json_work.py"))])
                    .with("PYTHONMALLOC", "malloc")
                    .with("PYTHONHASHSEED", "0"),
            ),
        ),
        have(&[], program("cc1plus", cc1plus(&["-fsyntax-only", "-o", "/dev/null"], "heavy.cpp")?)),
        have(&["git"], program("git log -p", CommandLine::new(git))),
        have(
            &["sqlite3"],
            program("sqlite3", CommandLine::new(["sqlite3", "-batch", ":memory:", &format!(".read {}", text(&sql))])),
        ),
        have(
            &["redis-server", "redis-benchmark"],
            program("redis-server", CommandLine::new(["sh", "-c", redis, &text(&folder.join("redis.socket"))])),
        ),
        have(&["java", "javac"], program("java", CommandLine::new(java))),
        have(&["jq"], program("jq", CommandLine::new(["jq", "[.[] | {name, y: .at.y[1]}] | length", &text(&json)]))),
    ]);
    Ok(all)
}

/// What time_costs.cpp does, under the names that tables have.
const TIMED: [(&str, &[&str]); 13] = [
    ("loop", &["loop"]),
    ("back to back", &["back_to_back"]),
    ("words", &["words"]),
    ("words, short", &["words", "30000"]),
    ("tree", &["tree"]),
    ("batches", &["batches"]),
    ("chase", &["chase"]),
    ("computes", &["computes"]),
    ("fresh memory", &["fresh"]),
    ("zeroed memory", &["zeroed"]),
    ("two threads", &["threads"]),
    ("contended", &["contended"]),
    ("processes", &["processes"]),
];
