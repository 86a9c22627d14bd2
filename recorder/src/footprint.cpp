#include "footprint.hpp"

#include "kernel.hpp"
#include "session.hpp"
#include "threads/state_pool.hpp"
#include "unwind/resident_tables.hpp"

#include <algorithm>
#include <link.h>

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
std::atomic<size_t> grown{0}; // since the last look
std::atomic<size_t> next_look{kStep};

std::atomic<uint64_t> turns{0}; // looks, as they begin

// A look takes the longer the more threads there are. Where a crowd of them begins at once, one looks, not each: that is less exact.
constexpr uint32_t kCrowd = 64;
std::atomic<bool> looking{false};

// Used only while `comparing`.
std::atomic<bool> comparing{false};
ResidentPeak peak;

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

// Bytes.
struct Shares {
    size_t own = own_bytes(), tables = unwind::tables_read::bytes();
};

ResidentPeak::Range kib(size_t one, size_t other) { return {std::min(one, other) / 1024, std::max(one, other) / 1024}; }

// Looks again where the resident set grew meanwhile: the shares may have, too.
ResidentPeak::Seen see() {
    ResidentPeak::Seen seen;
    if (!session.arena) return seen;
    constexpr int kTries = 4;
    seen.turn = turns.fetch_add(1, std::memory_order_relaxed) + 1;
    uint64_t before = kernel::largest_resident_set_kib();
    Shares shares;
    seen.largest = kernel::largest_resident_set_kib();
    for (int i = 0; i < kTries && seen.largest != before; ++i) {
        before = seen.largest;
        shares = Shares();
        seen.largest = kernel::largest_resident_set_kib();
    }
    const Shares after = seen.largest == before ? shares : Shares();
    seen.own = kib(shares.own, after.own);
    seen.tables = kib(shares.tables, after.tables);
    if (!kernel::silent.load(std::memory_order_relaxed))
        session.arena->own_memory.store(after.own / 1024 | (after.tables / 1024) << 32, std::memory_order_relaxed);
    const size_t part = after.own / kPart;
    next_look.store(part > kStep ? part : kStep, std::memory_order_relaxed);
    return seen;
}

// False if another thread is there, or the code that a signal interrupted.
bool begin_comparing() { return !comparing.exchange(true, std::memory_order_acquire); }

void end_comparing() { comparing.store(false, std::memory_order_release); }

} // namespace

void grow(size_t bytes) {
    grown.fetch_add(bytes, std::memory_order_relaxed);
    // Memory that other threads took during a look: the same thread looks again.
    while (grown.load(std::memory_order_relaxed) >= next_look.load(std::memory_order_relaxed)) {
        const bool is_crowd = session.arena && session.arena->slots_used.load(std::memory_order_relaxed) > kCrowd;
        if (is_crowd && looking.exchange(true, std::memory_order_acquire)) return;
        const size_t since = grown.exchange(0, std::memory_order_relaxed);
        if (!kernel::silent.load(std::memory_order_relaxed)) {
            const ResidentPeak::Seen seen = see();
            if (begin_comparing()) { // else what the next look sees holds for this one, too
                peak.add(seen);
                end_comparing();
            }
        } else if (session.arena) { // no look would see anything
            session.arena->own_memory.fetch_add(since / 1024, std::memory_order_relaxed);
        }
        if (is_crowd) looking.store(false, std::memory_order_release);
    }
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
    grown.store(0, std::memory_order_relaxed);
    looking.store(false, std::memory_order_relaxed);
    if (forked) unwind::tables_read::forget();
    comparing.store(true, std::memory_order_relaxed);
    peak.begin(see(), forked);
    end_comparing();
}

ResidentPeak::Figures look() {
    constexpr int kPatience = 100;
    const ResidentPeak::Seen seen = see();
    for (int i = 0; !begin_comparing(); ++i) {
        if (i == kPatience) return {};
        kernel::call(SYS_sched_yield);
    }
    peak.add(seen);
    const ResidentPeak found = peak;
    end_comparing();
    const kernel::ResidentSet set = kernel::resident_set();
    return found.figures(set.now, set.largest);
}

} // namespace memtoll::footprint
