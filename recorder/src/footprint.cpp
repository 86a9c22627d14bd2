#include "footprint.hpp"

#include "kernel.hpp"
#include "session.hpp"
#include "threads/state_pool.hpp"
#include "unwind/tables_read.hpp"

#include <link.h>
#include <sys/resource.h>

// ld: the recorder's own first byte.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];

namespace memtoll::footprint {
namespace {

// What take() grants the first thread, and each further one. With a thread's first pages and its chunks of the log, that
// makes less than 6 MiB and 256 KiB.
constexpr size_t kFirst = (2 << 20) + (128 << 10);
constexpr size_t kEach = 40 << 10;
// It is looked again when the recorder's share may have grown by this part of it, and by this much.
constexpr size_t kPart = 16;
constexpr size_t kStep = 64 << 10;

std::atomic<size_t> granted{0};
std::atomic<size_t> grown{0};     // since the last look
std::atomic<size_t> next_look{kStep};
std::atomic<bool> looking{false};

// Of the last look, written only while `looking`.
uint64_t last_rss = 0; // KiB
uint64_t last_own = 0;
uint64_t last_read = 0;
Peak peak;

size_t pages(size_t bytes) { return (bytes + kernel::page_bytes() - 1) & ~(kernel::page_bytes() - 1); }

// The recorder's file. Its code is read around each page that is used, so nearly all of it is there soon.
size_t library_bytes() {
    const auto base = reinterpret_cast<uintptr_t>(__ehdr_start);
    const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(base);
    const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(base + header->e_phoff);
    size_t bytes = 0;
    for (unsigned i = 0; i < header->e_phnum; ++i) {
        if (segments[i].p_type != PT_LOAD) continue;
        const uintptr_t start = (base + segments[i].p_vaddr) & ~(kernel::page_bytes() - 1);
        const size_t length = pages(base + segments[i].p_vaddr + segments[i].p_memsz - start);
        bytes += (segments[i].p_flags & PF_W) ? kernel::resident(start, length) : length;
    }
    return bytes;
}

size_t arena_bytes() {
    const wire::ArenaHeader* arena = session.arena;
    const uint32_t slots = arena->slots_used.load(std::memory_order_relaxed);
    const size_t used = arena->chunks_used.load(std::memory_order_relaxed), kept = wire::kept_chunks(slots);
    const size_t staying = used < kept ? used : kept;
    // Of the others, each thread has one at most.
    const size_t passing = used - staying < slots ? used - staying : slots;
    return kernel::page_bytes() + pages(slots * sizeof(wire::ThreadSlot)) + passing * sizeof(wire::Chunk) +
           kernel::resident(reinterpret_cast<uintptr_t>(session.chunk(0)), staying * sizeof(wire::Chunk)) +
           session.tree.resident_nodes() * sizeof(wire::StackNode);
}

size_t own_bytes() {
    const size_t kProcessMark = kernel::page_bytes();
    return library_bytes() + kProcessMark + arena_bytes() + session.tree.resident_index() + state_pool::resident_bytes();
}

// KiB; 0 if the kernel does not say.
uint64_t largest_resident_set() {
    rusage usage;
    const long result = kernel::call(SYS_getrusage, RUSAGE_SELF, reinterpret_cast<long>(&usage));
    return kernel::failed(result) ? 0 : static_cast<uint64_t>(usage.ru_maxrss);
}

// While `looking`.
void compare(bool is_first, bool forked) {
    const uint64_t rss = session.arena ? largest_resident_set() : 0;
    if (rss == 0) return;
    const uint64_t own = own_bytes() / 1024;
    const uint64_t read = unwind::tables_read::bytes() / 1024;
    grown.store(0, std::memory_order_relaxed);
    const size_t part = own * 1024 / kPart;
    next_look.store(part > kStep ? part : kStep, std::memory_order_relaxed);
    // What the process had before an exec counts, too: then the first look says nothing.
    if (is_first ? forked : rss > last_rss) {
        const uint64_t before = is_first ? own : last_own, read_before = is_first ? read : last_read;
        const uint64_t mean = (before + own) / 2, tables = (read_before + read) / 2;
        const uint64_t program = rss > mean + tables ? rss - mean - tables : 0;
        const uint64_t error = ((before < own ? own - before : before - own) + read - read_before) / 2;
        if (program > peak.program_kib) peak = {program, mean, error};
    }
    last_rss = rss;
    last_own = own;
    last_read = read;
}

} // namespace

void grow(size_t bytes) {
    const size_t now = grown.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (now >= next_look.load(std::memory_order_relaxed)) look();
}

bool take(size_t bytes) {
    const size_t slots = session.arena->slots_used.load(std::memory_order_relaxed);
    const size_t most = kFirst + (slots > 0 ? slots - 1 : 0) * kEach;
    size_t now = granted.load(std::memory_order_relaxed);
    do {
        if (now + bytes > most) return false;
    } while (!granted.compare_exchange_weak(now, now + bytes, std::memory_order_relaxed));
    grow(bytes);
    return true;
}

void bring(void* start, size_t bytes) {
    const auto address = reinterpret_cast<uintptr_t>(start);
    const uintptr_t from = pages(address), to = (address + bytes) & ~(kernel::page_bytes() - 1);
    if (from < to && kernel::expect_writes(reinterpret_cast<void*>(from), to - from) && session.arena)
        session.arena->filled_pages.fetch_add((to - from) / kernel::page_bytes(), std::memory_order_relaxed);
}

void begin(bool forked) {
    granted.store(0, std::memory_order_relaxed);
    looking.store(true, std::memory_order_relaxed);
    peak = {};
    last_read = 0;
    if (forked) unwind::tables_read::forget();
    compare(true, forked);
    looking.store(false, std::memory_order_release);
}

Peak look() {
    if (looking.exchange(true, std::memory_order_acquire)) return {};
    compare(false, false);
    const Peak now = peak;
    looking.store(false, std::memory_order_release);
    return now;
}

} // namespace memtoll::footprint
