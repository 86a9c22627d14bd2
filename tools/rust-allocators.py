#!/usr/bin/env python3
"""Records Rust programs with each crate that brings an allocator, and compares what memtoll saw with what the program counts itself.

  tools/rust-allocators.py MEMTOLL [--work FOLDER] [--only CRATE]

Builds each with debug information, optimised and stripped, and runs it with 1, 4 and 50 threads. Prints a table; ends with 1 if a count
or a byte differs, or if a stripped program's lack of names is not told.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent
CRATES = {"tikv-jemallocator": ("0.6", "jemalloc"), "jemallocator": ("0.5", "jemalloc"), "mimalloc": ("0.1", "mimalloc"),
          "snmalloc-rs": ("0.3", "snmalloc")}
PROFILES = {"debug": ["--profile", "dev"], "release": ["--release"], "stripped": ["--profile", "stripped"]}
FOLDERS = {"debug": "debug", "release": "release", "stripped": "stripped"}
THREADS = [1, 4, 50]


def build(work, crate, profile):
    folder = work / crate
    (folder / "src").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "rust-allocators.d" / "main.rs", folder / "src" / "main.rs")
    features = "\n".join(f'"{name}" = []' for name in CRATES if name != crate)
    (folder / "Cargo.toml").write_text(f"""
[package]
name = "counted"
version = "0.1.0"
edition = "2024"
[dependencies]
"{crate}" = {{ version = "{CRATES[crate][0]}", optional = true }}
[features]
{features}
[profile.stripped]
inherits = "release"
strip = true
[workspace]
""")
    subprocess.run(["cargo", "build", "--quiet", "--features", crate, *PROFILES[profile]], cwd=folder, check=True)
    return folder / "target" / FOLDERS[profile] / "counted"


def recorded(memtoll, program, threads, file):
    run = subprocess.run([memtoll, "record", "-q", "--force", "-o", file, program, str(threads)], check=True, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    counted = [int(number) for number in run.stdout.split()]
    report = subprocess.run([memtoll, "report", file, "--format", "json"], check=True, text=True, stdout=subprocess.PIPE)
    return counted, json.loads(report.stdout)


def compare(crate, counted, report):
    """What the table says, and whether that is right."""
    own = [one for one in report["own_allocators"] if one["name"] == CRATES[crate][1]]
    if len(own) != 1:
        return f"{len(own)} allocators of this name", False
    if own[0]["recorded"] != "all":
        said = any("bypass memtoll" in text for text in report["missing"] + report["notes"])
        return f"not seen, and said: {own[0]['why']}" if said else "not seen, and not said", said
    answered = own[0]["answered"]
    seen = [answered["allocations"], answered["bytes"], answered["releases"]]
    if seen == counted:
        return "exact: {:,} allocations, {:,} B, {:,} releases".format(*counted), True
    return f"counted {counted}, seen {seen}", False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("memtoll", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT.parent / "target" / "rust-allocators")
    parser.add_argument("--only", default="", help="crates whose name contains this")
    arguments = parser.parse_args()
    memtoll = arguments.memtoll.resolve()
    print("| crate | build | threads | seen |\n|---|---|--:|---|", flush=True)
    is_good = True
    for crate in CRATES:
        if arguments.only not in crate:
            continue
        for profile in PROFILES:
            program = build(arguments.work, crate, profile)
            for threads in THREADS:
                counted, report = recorded(memtoll, program, threads, arguments.work / "counted.memtoll")
                said, is_right = compare(crate, counted, report)
                is_good &= is_right
                print(f"| {crate} | {profile} | {threads} | {said} |", flush=True)
    sys.exit(0 if is_good else 1)


main()
