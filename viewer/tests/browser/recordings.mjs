// Recordings of real programs, made by the memtoll under test.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const MEMTOLL = process.env.MEMTOLL ?? join(import.meta.dirname, "../../../target/debug/memtoll");
const folder = mkdtempSync(join(tmpdir(), "memtoll-viewer-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

export const run = (program, ...words) => execFileSync(program, words, { cwd: folder, stdio: ["ignore", "pipe", "pipe"], maxBuffer: 2 ** 28 }).toString();

function recordWith(options, name, ...command) {
    const file = join(folder, `${name}.memtoll`);
    run(MEMTOLL, "record", "--quiet", ...options, "-o", file, "--", ...command);
    return file;
}

const record = (name, ...command) => recordWith([], name, ...command);

/** What a report says, as JSON. Of a recording that is harmed, it is what can be read. */
export function report(file, ...options) {
    const { stdout, stderr } = spawnSync(MEMTOLL, ["report", "--no-debuginfod", file, "--format", "json", ...options], { encoding: "utf8", maxBuffer: 2 ** 28 });
    if (stdout === "") throw new Error(stderr);
    return JSON.parse(stdout);
}

/** An instant, ns, until which a recording has from `least` to `most` of a total. On a busy machine, a share of the time says nothing. */
export function instantOf(file, total, least, most) {
    let [before, after] = [0, report(file).seconds * 1e9];
    for (;;) {
        const instant = Math.round((before + after) / 2);
        const found = report(file, "--to", `${instant}ns`).totals[total];
        if (found >= least && found <= most) return instant;
        if (after - before < 1) throw new Error(`${total} until ${instant} ns: ${found}`);
        if (found < least) before = instant;
        else after = instant;
    }
}

/** An instant at which `last` allocations are still to come, and at most `others` of the C library. */
function beforeLast(file, last, others = 0) {
    const { allocations } = report(file).totals;
    return instantOf(file, "allocations", allocations - last - others, allocations - last);
}

/** Exports a recording. Returns the path of the file. */
export function exportTo(format, recording) {
    const file = join(folder, `export.${format}`);
    run(MEMTOLL, "export", "--no-debuginfod", "--force", recording, "--format", format, "-o", file);
    return file;
}

/** Verifies a finding with two commands that differ by ten thousand page faults, which the recording keeps. */
export const verify = (file, finding) =>
    spawnSync(MEMTOLL, ["verify", "--no-debuginfod", "--before", "head -c 40000001 /dev/zero | tail -c 40000000 | wc -c", "--after", "echo 40000000", "--metric", "faults", "--min-rounds", "3", "--max-rounds", "3", "--finding", finding, file]);

/** What a comparison says, as JSON. */
export const diff = (...files) => JSON.parse(run(MEMTOLL, "diff", "--no-debuginfod", "--format", "json", "-n", "1000", ...files));

/** Runs if a name becomes part of the page. */
export const ATTACK = "<img src=x onerror=window.attacked=1>";

function compile(name, source, path, ...options) {
    const file = join(folder, path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, source);
    run("cc", "-O0", "-pthread", ...options, "-o", join(folder, name), file);
    return join(folder, name);
}

/** A program whose functions, files, threads and arguments are called so that they would run if they were not text. */
function hostile() {
    const source = `#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
void *attack(int size) { char *block = malloc(size); memset(block, 1, size); return block; }
void *attack_twice(int size) { char *block = attack(size); for (int i = 0; i < 1000; i++) free(attack(i)); return block; }
static void *thread(void *unused) { pthread_setname_np(pthread_self(), "<img src=x>"); return attack_twice(70000); }
int main(void) { pthread_t id; pthread_create(&id, 0, thread, 0); pthread_join(id, 0); attack_twice(3000000); return 0; }
`;
    const program = compile("hostile", source, "plain.c");
    run("objcopy", "--redefine-sym", `attack=${ATTACK}`, "--redefine-sym", "attack_twice=</script><script>window.attacked=1</script>", program);
    return record("hostile", program, ATTACK, "=1+1");
}

function hostileFile() {
    const source = `#include <stdlib.h>
int main(void) { for (int i = 0; i < 5000; i++) free(malloc(i)); return malloc(100) == 0; }
`;
    return record("hostile-file", compile("hostile-file", source, `<${ATTACK.slice(4)}/script>${ATTACK.replace("/", "")}.c`, "-g"));
}

/** A process of one thread that frees nothing: 1,000 blocks of 1,000 bytes, a pause, and 500 blocks of 4,000 bytes. */
function staircase() {
    const source = `#include <stdlib.h>
#include <unistd.h>
static void *kept[1500];
static void __attribute__((noinline)) small(void) { for (int i = 0; i < 1000; i++) kept[i] = malloc(1000); }
static void __attribute__((noinline)) large(void) { for (int i = 0; i < 500; i++) kept[1000 + i] = malloc(4000); }
int main(void) { usleep(50000); small(); usleep(200000); large(); usleep(50000); return 0; }
`;
    return record("staircase", compile("staircase", source, "staircase.c", "-g"));
}

/** When it has made the small blocks, and no large one. */
export const betweenSteps = () => beforeLast(recordings.staircase, 500);
export const afterSteps = () => beforeLast(recordings.staircase, 0);

/** When `phases` sleeps between its parts, by the allocations until then: some more are the C library's. */
export const afterEarly = () => beforeLast(recordings.phases, 22_100, 10);
export const afterThread = () => beforeLast(recordings.phases, 2_100);

/** Two threads and two processes, in turn over half a second. */
function phases(name = "phases", size = 5000) {
    const source = `#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <pthread.h>
#include <sys/wait.h>
static void *kept[4000];
static void early(void) { for (int i = 0; i < 2000; i++) kept[i] = malloc(1000); }
static void late(void) { for (int i = 0; i < 2000; i++) { free(kept[i]); kept[i] = malloc(${size}); memset(kept[i], 1, ${size}); } }
static void *thread(void *unused) { for (int i = 0; i < 20000; i++) free(malloc(64)); return 0; }
int main(void) {
    early(); usleep(200000);
    pthread_t id; pthread_create(&id, 0, thread, 0); pthread_join(id, 0);
    usleep(200000); late();
    if (fork() == 0) { for (int i = 0; i < 100; i++) kept[2000 + i] = malloc(3000); _exit(0); }
    wait(0); return 0;
}
`;
    return record(name, compile(name, source, "home/ann/phases.c", "-g"));
}

/** A thread that waits for the lock of malloc, which another one holds for half a second. */
function locked() {
    const heap = `#include <stddef.h>
#include <pthread.h>
#include <unistd.h>
void *__libc_malloc(size_t size);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
volatile int is_held;
void *malloc(size_t size) {
    pthread_mutex_lock(&lock);
    void *block = __libc_malloc(size);
    if (size == 7777) {
        is_held = 1;
        usleep(500000);
    }
    pthread_mutex_unlock(&lock);
    return block;
}
`;
    const source = `#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
extern volatile int is_held;
static void *holds(void *unused) { free(malloc(7777)); return 0; }
__attribute__((noinline)) static void waits(void) { free(malloc(100)); __asm__ volatile(""); }
int main(void) {
    pthread_t id; pthread_create(&id, 0, holds, 0);
    while (!is_held) usleep(1000);
    usleep(20000); waits(); pthread_join(id, 0);
    return 0;
}
`;
    const library = compile("liblocked.so", heap, "heap.c", "-shared", "-fPIC");
    return record("locked", compile("locked", source, "locked.c", "-g", "-Wl,--no-as-needed", library));
}

/** 32,768 call paths that are all the same size, and one of a function that is called once. */
function wide() {
    const step = (number) => `__attribute__((noinline)) void step${number}(int depth, unsigned path) { if (depth == 0) free(malloc(16 + path % 7)); else steps[path & 7](depth - 1, path >> 3); __asm__ volatile(""); }`;
    const numbers = [0, 1, 2, 3, 4, 5, 6, 7];
    const source = `#include <stdlib.h>
typedef void (*function)(int, unsigned);
static function steps[8];
${numbers.map(step).join("\n")}
__attribute__((noinline)) void seldom(void) { free(malloc(16)); __asm__ volatile(""); }
int main(void) {
    seldom();
    ${numbers.map((number) => `steps[${number}] = step${number};`).join(" ")}
    for (unsigned path = 0; path < 32768; path++) steps[path & 7](4, path >> 3);
    return 0;
}
`;
    return record("wide", compile("wide", source, "wide.c", "-g"));
}

/** One of 17 page faults is sampled. */
function storm() {
    const source = `#include <stdlib.h>
#include <sys/mman.h>
static void touch_all(void) {
    for (int round = 0; round < 8; round++) {
        char *memory = mmap(0, 100 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(memory, 100 << 20, MADV_NOHUGEPAGE);
        for (int at = 0; at < 100 << 20; at += 4096) memory[at] = 1;
        munmap(memory, 100 << 20);
    }
}
int main(void) { touch_all(); for (int i = 0; i < 1000; i++) free(malloc(100)); return 0; }
`;
    return recordWith(["--fault-period", "17"], "storm", compile("storm", source, "storm.c", "-g"));
}

/** Blocks of which one in 64 stays, so that each keeps a page; the others are free for this many seconds before the end. */
function survivors(name, seconds) {
    const source = `#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *all[200000];
__attribute__((noinline)) static void *survivor(void) { return memset(malloc(100), 1, 100); }
__attribute__((noinline)) static void *passer(void) { return memset(malloc(100), 1, 100); }
int main(void) {
    for (int i = 0; i < 200000; i++) all[i] = i % 64 ? passer() : survivor();
    for (int i = 0; i < 200000; i++) if (i % 64) free(all[i]);
    sleep(${seconds});
    return 0;
}
`;
    return record(name, compile(name, source, `${name}.c`, "-g"));
}

const MAKERS = {
    survivors: () => survivors("survivors", 0),
    lingering: () => survivors("lingering", 2),
    // As C++, whose functions have parameters in their names.
    recursion: () => record("recursion", compile("recursion", readFileSync(join(import.meta.dirname, "../../../tests/e2e/programs/recursion.c"), "utf8"), "recursion.c", "-g", "-x", "c++")),
    storm,
    wide,
    locked,
    phases,
    staircase,
    "phases-after": () => phases("phases-after", 9000),
    hostile,
    "hostile-file": hostileFile,
    git: () => record("git", "git", "--no-pager", "-C", join(import.meta.dirname, "../../.."), "log", "--stat", "-n", "20", "--format=%h"),
    python: () => record("python", "python3", "-c", "import json; rows = [{'id': i, 'name': f'user{i}'} for i in range(20000)]; print(len(json.dumps(json.loads(json.dumps(rows)))))"),
    "short-lived": shortLived,
    "freed-by-child": freedByChild,
    "short-command": shortCommand,
    spike,
    "right-to-left": rightToLeft,
    single,
    marked,
    wrapped,
    growing,
    overloads,
    twins: () => twins(),
    "twins-after": () => twins("twins-after", 2),
    namespaces,
    templates,
    rows,
    waiting,
    together,
    executed,
    resized,
};

/** Each is made when it is first asked for. */
export const recordings = {};
for (const [name, make] of Object.entries(MAKERS)) {
    let file;
    Object.defineProperty(recordings, name, { get: () => (file ??= make()) });
}

/** The source of `phases`, and of `marked`, as their recordings name them. */
export const SOURCE = join(folder, "home/ann/phases.c");
export const MARKED = join(folder, "home/ann/marked.c");
export const FOLDER = folder;

/** Two functions of one name, in one line. */
function overloads() {
    const one = (type, size) => `__attribute__((noinline)) void *made(${type}) { void *block = malloc(${size}); __asm__ volatile(""); return block; }`;
    const source = `#include <stdlib.h>
${one("int", 1000)} ${one("long", 3000)}
int main() { free(made(1)); free(made(1L)); return 0; }
`;
    const file = join(folder, "overloads.cpp");
    writeFileSync(file, source);
    run("c++", "-O1", "-g", "-o", join(folder, "overloads"), file);
    return record("overloads", join(folder, "overloads"));
}

/** Two libraries of one file name, without debug information, that have a function of the same name, which allocates once in the one and twice in the other; calls the second one `seconds` times. */
function twins(name = "twins", seconds = 1) {
    const source = "#include <stdlib.h>\nvoid *made(void) { void *block = NULL; for (int i = 0; i < TIMES; i++) { block = malloc(100); __asm__ volatile(\"\" : : \"r\"(block)); } return block; }\n";
    const files = [1, 2].map((times) => {
        const at = join(folder, `twin-${times}`);
        mkdirSync(at, { recursive: true });
        writeFileSync(join(at, "twin.c"), source);
        run("cc", "-O1", `-DTIMES=${times}`, "-shared", "-fPIC", "-o", join(at, "twin.so"), join(at, "twin.c"));
        return join(at, "twin.so");
    });
    const main = `#include <dlfcn.h>
int main(int count, char **files) { for (int i = 1; i < count; i++) ((void *(*)(void))dlsym(dlopen(files[i], RTLD_NOW), "made"))(); return 0; }
`;
    return record(name, compile(name, main, "twins.c", "-g", "-ldl"), files[0], ...Array(seconds).fill(files[1]));
}

/** Thirty runs of a region, in turn with a mark, that allocate more and more. */
function marked() {
    const source = `#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "memtoll.h"
static void frame(int number) {
    memtoll_region_begin("frame");
    for (int i = 0; i < 100 * number; i++) { char *block = malloc(500); memset(block, 1, 500); free(block); }
    memtoll_region_end("frame");
}
int main(void) {
    for (int number = 0; number < 30; number++) { memtoll_mark("between"); usleep(5000); frame(number); }
    return 0;
}
`;
    return record("marked", compile("marked", source, "home/ann/marked.c", "-g", "-I", join(import.meta.dirname, "../../../remedies/include")));
}

/** Four threads that free what others allocate, in one arena: they wait for each other. */
function waiting() {
    const source = `#include <stdlib.h>
#include <pthread.h>
static void *thread(void *unused) { for (int i = 0; i < 100000; i++) { void *block = malloc(2000); *(char *)block = 1; free(block); } return 0; }
int main(void) {
    pthread_t ids[4];
    for (int i = 0; i < 4; i++) pthread_create(&ids[i], 0, thread, 0);
    for (int i = 0; i < 4; i++) pthread_join(ids[i], 0);
    return 0;
}
`;
    const program = compile("waiting", source, "waiting.c", "-g");
    return record("waiting", "env", "GLIBC_TUNABLES=glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0", program);
}

/** More than 100,000 blocks that grow, which is a number of seven characters. */
function resized() {
    const source = `#include <stdlib.h>
int main(void) {
    for (int i = 0; i < 123456; i++) { void *block = malloc(16); block = realloc(block, 64); *(volatile char *)block = 1; free(block); }
    return 0;
}
`;
    return record("resized", compile("resized", source, "resized.c", "-g"));
}

/** Several processes, one with threads but without names, and a wrapper: the header offers all of its choices. */
function together() {
    assert.ok(recordings.wrapped && recordings.waiting, "their programs are there");
    const name = "a-file-with-a-name-that-is-longer-than-its-column";
    run("strip", "-o", name, "waiting");
    return record("together", "sh", "-c", `./wrapped; ./${name}`);
}

/** The same from a command of 23 letters. */
function shortCommand() {
    assert.ok(recordings.wrapped && recordings.waiting, "their programs are there");
    writeFileSync(join(folder, "two-programs.sh"), "#!/bin/sh\n./wrapped\n./waiting\n", { mode: 0o755 });
    return record("short-command", "./two-programs.sh", "--all");
}

/** Processes, one of which executes a second program. */
function executed() {
    assert.ok(recordings.wrapped, "its program is there");
    return record("executed", "sh", "-c", "env ./wrapped; ./wrapped");
}

/** A wrapper of the allocator that many lines call, one of which grows a table again and again. */
function wrapped() {
    const step = (number) => `__attribute__((noinline)) void *step${number}(void) { return xmalloc(${number + 1} * 50); }`;
    const numbers = Array.from({ length: 12 }, (_, number) => number);
    const source = `#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void *xmalloc(size_t size) { void *block = malloc(size); memset(block, 1, size); return block; }
${numbers.map(step).join("\n")}
__attribute__((noinline)) void *buffer_again_and_again(void) { return xmalloc(4000000); }
int main(void) {
    for (int round = 0; round < 60; round++) { ${numbers.map((number) => `free(step${number}());`).join(" ")} free(buffer_again_and_again()); }
    return 0;
}
`;
    return record("wrapped", compile("wrapped", source, "wrapped.c", "-g"));
}

/** A vector that grows to a million numbers. */
function growing() {
    const source = `#include <vector>
int main() {
    long sum = 0;
    for (int round = 0; round < 40; ++round) {
        std::vector<long> numbers_that_grow;
        for (long number = 0; number < 200000; ++number) numbers_that_grow.push_back(number);
        sum += numbers_that_grow[round];
    }
    return sum == 0;
}
`;
    const file = join(folder, "growing.cpp");
    writeFileSync(file, source);
    run("c++", "-O1", "-g", "-o", join(folder, "growing"), file);
    return record("growing", join(folder, "growing"));
}

/** Functions of one class, whose names begin alike. */
function namespaces() {
    const source = `#include <cstdlib>
namespace application::storage {
template <class Key, class Value> struct OrderedIndex {
    __attribute__((noinline)) void *insert_rows(int count) { void *last = nullptr; for (int at = 0; at < count; ++at) { std::free(last); last = std::malloc(100); } return last; }
    __attribute__((noinline)) void *remove_rows(int count) { void *last = nullptr; for (int at = 0; at < count; ++at) { std::free(last); last = std::malloc(200); } return last; }
};
}
int main() {
    application::storage::OrderedIndex<unsigned long, unsigned char> index;
    return index.insert_rows(3000) == index.remove_rows(2000);
}
`;
    const file = join(folder, "namespaces.cpp");
    writeFileSync(file, source);
    run("c++", "-O1", "-std=c++20", "-g", "-o", join(folder, "namespaces"), file);
    return record("namespaces", join(folder, "namespaces"));
}

/** Templates that differ in an argument which has no room in their names. */
function templates() {
    const source = `#include <cstdlib>
namespace application::storage {
struct Apple {};
struct Apricot {};
template <class Value> struct Entry {};
template <class Key, class Value, class Slot> struct OrderedIndexOfManyThings {
    __attribute__((noinline)) void *insert(int count) { void *last = nullptr; for (int at = 0; at < count; ++at) { std::free(last); last = std::malloc(100); } return last; }
};
}
int main() {
    using namespace application::storage;
    OrderedIndexOfManyThings<unsigned long, Apple, Entry<Entry<Apple>>> apples;
    OrderedIndexOfManyThings<unsigned long, Apricot, Entry<Entry<Apricot>>> apricots;
    return apples.insert(3000) == apricots.insert(2000);
}
`;
    const file = join(folder, "templates.cpp");
    writeFileSync(file, source);
    run("c++", "-O1", "-std=c++20", "-g", "-fno-ipa-icf", "-o", join(folder, "templates"), file);
    return record("templates", join(folder, "templates"));
}

/** A vector of objects with padding between their members, which stay. */
function rows() {
    const source = `#include <vector>
namespace app {
struct Row { bool is_set; double value; char kind; double weight; short column; unsigned first : 3; unsigned second : 7; double more[12]; char last; };
}
static std::vector<app::Row> *kept;
int main() {
    kept = new std::vector<app::Row>;
    kept->reserve(1000);
    for (int number = 0; number < 1000; ++number) kept->push_back(app::Row());
    return kept->back().is_set;
}
`;
    const file = join(folder, "rows.cpp");
    writeFileSync(file, source);
    run("c++", "-O1", "-g", "-o", join(folder, "rows"), file);
    return record("rows", join(folder, "rows"));
}

/** Processes that leave blocks behind when they end, before their parent does. */
function shortLived() {
    const source = `#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
static void *volatile block;
__attribute__((noinline)) static void left_by_child(void) { block = malloc(1000); }
__attribute__((noinline)) static void kept_by_parent(void) { block = malloc(500); }
int main(void) {
    kept_by_parent();
    for (int i = 0; i < 20; i++) {
        if (fork() == 0) { left_by_child(); _exit(0); }
        wait(0);
    }
    usleep(20000);
    return 0;
}
`;
    return record("short-lived", compile("short-lived", source, "short-lived.c", "-g"));
}

/** A child that frees 100 blocks of its parent, which only a note about it says. */
function freedByChild() {
    const source = `#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
static void *kept[100];
int main(void) {
    for (int i = 0; i < 100; i++) kept[i] = malloc(1000);
    if (fork() == 0) { for (int i = 0; i < 100; i++) free(kept[i]); free(malloc(77)); _exit(0); }
    wait(0);
    return 0;
}
`;
    return record("freed-by-child", compile("freed-by-child", source, "freed-by-child.c", "-g"));
}

/** Memory that comes and goes at once, as a rule between two looks of memtoll's; recorded until that is so. */
function spike() {
    const source = `#include <stdlib.h>
#include <string.h>
int main(void) {
    for (volatile long i = 0; i < 50000000; i++) {}
    char *block = malloc(3 << 20);
    memset(block, 1, 3 << 20);
    __asm__ volatile("" : : "r"(block) : "memory");
    free(block);
    for (volatile long i = 0; i < 50000000; i++) {}
    return 0;
}
`;
    const program = compile("spike", source, "spike.c", "-g");
    for (let tries = 0; tries < 20; tries++) {
        const file = recordWith(["--force"], "spike", program);
        const seen = report(file, "--resident").resident.curve.map(({ bytes }) => bytes);
        const { resident_peak_bytes: peak, resident_peak_error_bytes: error } = report(file).totals;
        if (peak - error > Math.max(...seen)) return file;
    }
    throw new Error("memtoll has always looked when the memory was there");
}

/** Names that are written from right to left: of functions, a file, a thread, marks and the program. */
function rightToLeft() {
    const source = `#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include "memtoll.h"
__attribute__((noinline)) void *שלום(int size) { return memset(malloc(size), 1, size); }
static void *thread(void *unused) { pthread_setname_np(pthread_self(), "חוט"); for (int i = 0; i < 1000; i++) free(שלום(i)); return 0; }
int main(void) {
    memtoll_mark("סימן");
    pthread_t id; pthread_create(&id, 0, thread, 0); pthread_join(id, 0);
    return שלום(3000000) == 0;
}
`;
    return record("right-to-left", compile("תוכנית", source, "קובץ.c", "-g", "-I", join(import.meta.dirname, "../../../remedies/include")), "מילה");
}

/** One block, which stays. */
function single() {
    return record("single", compile("single", "#include <stdlib.h>\nint main(void) { return malloc(7) == 0; }\n", "single.c", "-g"));
}

/** A copy of a recording that lacks its end, or in which a hundred bytes are wrong. */
export function harmed(name, how) {
    const bytes = readFileSync(recordings[name]);
    const file = join(folder, `${name}-${how}.memtoll`);
    if (how === "flipped") for (let at = 0; at < 100; at++) bytes[Math.floor(bytes.length * (0.04 + at * 0.0095))] ^= 0x55;
    writeFileSync(file, how === "cut" ? bytes.subarray(0, Math.floor(bytes.length * 0.6)) : bytes);
    return file;
}

/** Keeps some blocks, waits for its input to end, and allocates again. */
export function patient() {
    const source = `#include <stdlib.h>
#include <unistd.h>
static void *blocks[1000];
static void kept(void) { for (int i = 0; i < 1000; i++) blocks[i] = malloc(100); }
static void later(void) { for (int i = 0; i < 500; i++) free(malloc(300)); }
int main(void) { char letter; kept(); while (read(0, &letter, 1) > 0) {} later(); return 7; }
`;
    return compile("patient", source, "patient.c", "-g");
}

export function html(name, ...options) {
    const file = join(folder, `${name}.html`);
    // Of a recording that is harmed, it writes the page, and fails.
    const { status, stderr } = spawnSync(MEMTOLL, ["html", "--force", "--no-debuginfod", ...options, recordings[name], "-o", file], { encoding: "utf8" });
    if (status !== 0 && !/ missing/.test(stderr)) throw new Error(stderr);
    return file;
}

/** A page of what changed from one recording to another. */
export function htmlOfBoth(before, after) {
    const file = join(folder, `${before}-${after}.html`);
    run(MEMTOLL, "html", "--force", "--no-debuginfod", recordings[before], recordings[after], "-o", file);
    return file;
}
