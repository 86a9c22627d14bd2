// Plays the calls of a recording: the same sizes, alignments, threads and order, against the allocator that the loader
// found. Prints what that took. Everything that playing needs is there before the measured part begins, but for the steps,
// which a thread reads 1,024 at a time; the loop decodes nothing and calls nothing but the allocator.
//
//     player SCRIPT real|stub
//
// `stub` plays the same script without an allocator, which tells the player's own share.

#include "pools.hpp"
#include "script.hpp"
#include "waits.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace memtoll::player {
namespace {

const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));
// In place of a block that the allocator refused: nobody waits for it, and nobody frees it.
constexpr uint64_t kRefused = 2;
// A thread may be so many windows ahead of the slowest one.
constexpr uint64_t kAhead = 2;

struct Result {
    uint64_t wall, cpu, queued, slept, refused;
};

int g_script;
End g_end;
const Chunk* g_chunks;
const Thread* g_threads;
Step** g_rooms; // by thread: for the steps of a chunk
SharedSlot* g_shared;
Window* g_windows;
void*** g_slots;
Pool* g_pools;
Result* g_results;
uint64_t g_began;
bool g_is_stub;

[[noreturn]] void fail(const char* what) {
    perror(what);
    _exit(1);
}

// Memory that is there at once, so that the measured part takes no page faults for it.
void* ready(size_t bytes) {
    void* memory =
        mmap(nullptr, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        fail("no memory for the player");
    return memory;
}

// The allocator, or what stands in its place. Neither is inlined, so both are called alike.
struct Real {
    static void* allocate(size_t size) { return std::malloc(size); }
    static void* zeroed(size_t size) { return std::calloc(1, size); }
    static void* aligned(size_t size, size_t alignment) {
        void* block = nullptr;
        return posix_memalign(&block, alignment, size) == 0 ? block : nullptr;
    }
    static void* resize(void* block, size_t size) { return std::realloc(block, size); }
    static void release(void* block) { std::free(block); }
    static void* from_arena(Pool& pool, size_t size) { return pool.arena.allocate(size); }
    static void to_arena(Pool& pool) { pool.arena.release(); }
    static void* from_store(Pool& pool, size_t size) { return pool.store.allocate(size); }
    static void to_store(Pool& pool, void* block) { pool.store.release(block); }
    static void touch(void* block, uint64_t pages) {
        auto* bytes = static_cast<volatile char*>(block);
        for (uint64_t page = 0; page < pages; ++page)
            bytes[page * kPage] = 1;
    }
};

alignas(64) char g_block[64];
[[gnu::noinline]] void* some(size_t size) {
    asm volatile("" : : "r"(size) : "memory");
    return g_block;
}
[[gnu::noinline]] void none(void* block) { asm volatile("" : : "r"(block) : "memory"); }

struct Stub {
    static void* allocate(size_t size) { return some(size); }
    static void* zeroed(size_t size) { return some(size); }
    static void* aligned(size_t size, size_t) { return some(size); }
    static void* resize(void* block, size_t size) {
        none(block);
        return some(size);
    }
    static void release(void* block) { none(block); }
    static void* from_arena(Pool&, size_t size) { return some(size); }
    static void to_arena(Pool&) { none(nullptr); }
    static void* from_store(Pool&, size_t size) { return some(size); }
    static void to_store(Pool&, void* block) { none(block); }
    static void touch(void* block, uint64_t pages) {
        // Touching fresh memory is part of what an allocator costs: the stub has none.
        if (pages > 0)
            *static_cast<volatile char*>(block) = 1;
    }
};

uint64_t time_in_queue() {
    // Time on the processor, time in the queue for it, ns.
    const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    char text[128];
    const ssize_t length = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
    if (file >= 0)
        close(file);
    if (length <= 0)
        return 0;
    text[length] = 0;
    unsigned long long running = 0, queued = 0;
    return sscanf(text, "%llu %llu", &running, &queued) == 2 ? queued : 0;
}

void* run_thread(void* index);

void start(uint32_t index) {
    pthread_attr_t detached;
    pthread_t thread;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&detached, 1 << 17);
    if (pthread_create(&thread, &detached, run_thread, reinterpret_cast<void*>(static_cast<uintptr_t>(index))) != 0)
        fail("no thread for the player");
    pthread_attr_destroy(&detached);
}

void read_fully(uint64_t at, void* to, size_t bytes) {
    auto* next = static_cast<char*>(to);
    while (bytes > 0) {
        const ssize_t got = pread(g_script, next, bytes, static_cast<off_t>(at));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            fail("cannot read the script");
        next += got;
        at += static_cast<uint64_t>(got);
        bytes -= static_cast<size_t>(got);
    }
}

template <class Allocator>
void play(uint32_t index) {
    void** const slots = g_slots[index];
    const Chunk* chunk = g_chunks + g_threads[index].first;
    const Chunk* const last = chunk + g_threads[index].chunks;
    Step* const room = g_rooms[index];
    const Step* step = room;
    const Step* end = room;
    uint64_t slept = 0, refused = 0;
    void* from = nullptr;
    uint64_t ended = 0; // windows before this one have ended
    const auto put = [&](void* block) {
        const uint64_t pages = step->size >> kSizeBits;
        if (block == nullptr) [[unlikely]] {
            ++refused;
            block = reinterpret_cast<void*>(kRefused);
        } else {
            const uint64_t size = step->size & ((uint64_t{1} << kSizeBits) - 1);
            const uint64_t all = (size + kPage - 1) / kPage;
            Allocator::touch(block, (all * pages + 65534) / 65535);
        }
        if (step->slot & kShared)
            publish(g_shared[step->slot & ~kShared], reinterpret_cast<uint64_t>(block));
        else
            slots[step->slot] = block;
    };
    const auto get = [&]() -> void* {
        void* block = step->slot & kShared ? reinterpret_cast<void*>(take(g_shared[step->slot & ~kShared], slept))
                                           : slots[step->slot];
        return block == reinterpret_cast<void*>(kRefused) ? nullptr : block;
    };
    for (; step != end || chunk != last; ++step) {
        if (step == end) {
            read_fully(chunk->at, room, chunk->steps * sizeof(Step));
            step = room;
            end = room + chunk->steps;
            ++chunk;
        }
        const size_t size = step->size & ((uint64_t{1} << kSizeBits) - 1);
        switch (step->what) {
        case Do::kMalloc: put(Allocator::allocate(size)); break;
        case Do::kCalloc: put(Allocator::zeroed(size)); break;
        case Do::kAligned: put(Allocator::aligned(size, size_t{1} << step->log2_alignment)); break;
        case Do::kFrom: from = get(); break;
        case Do::kRealloc: put(Allocator::resize(from, size)); break;
        case Do::kFree: Allocator::release(get()); break;
        case Do::kFreeNull: {
            // The compiler would leave out a call that it knows to do nothing.
            void* nothing = nullptr;
            asm volatile("" : "+r"(nothing));
            Allocator::release(nothing);
            break;
        }
        case Do::kStart:
            await_ends(static_cast<uint32_t>(size), slept);
            start(step->slot);
            break;
        case Do::kWindow:
            if (step->slot > 0)
                leave(g_windows[step->slot - 1]);
            for (; ended + kAhead < size; ++ended)
                await_end(g_windows[ended], slept);
            break;
        case Do::kPause: sleep_until(g_began + size, slept); break;
        case Do::kArena: put(Allocator::from_arena(g_pools[step->pool], size)); break;
        case Do::kArenaFree:
            if (get() != nullptr)
                Allocator::to_arena(g_pools[step->pool]);
            break;
        case Do::kKeep: put(Allocator::from_store(g_pools[step->pool], size)); break;
        case Do::kKeepFree:
            if (void* block = get(); block != nullptr)
                Allocator::to_store(g_pools[step->pool], block);
            break;
        }
    }
    g_results[index].slept = slept;
    g_results[index].refused = refused;
}

void run(uint32_t index) {
    const uint64_t wall = now_ns(), cpu = thread_cpu_ns(), queued = time_in_queue();
    if (g_is_stub)
        play<Stub>(index);
    else
        play<Real>(index);
    Result& result = g_results[index];
    result.wall = now_ns() - wall;
    result.cpu = thread_cpu_ns() - cpu;
    result.queued = time_in_queue() - queued;
}

void* run_thread(void* index) {
    run(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(index)));
    count_end();
    return nullptr;
}

// A line of /proc/self/status, such as "VmHWM:", KiB.
uint64_t status(const char* name) {
    const int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    static char text[8192];
    const ssize_t length = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
    if (file >= 0)
        close(file);
    if (length <= 0)
        return 0;
    text[length] = 0;
    const char* line = strstr(text, name);
    return line == nullptr ? 0 : strtoull(line + strlen(name), nullptr, 10);
}

// Whether the largest resident set begins anew.
bool forget_peak() {
    const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    const bool done = file >= 0 && write(file, "5", 1) == 1;
    if (file >= 0)
        close(file);
    return done;
}

uint64_t micro(timeval time) { return static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_usec); }

void load(const char* path) {
    g_script = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about{};
    if (g_script < 0 || fstat(g_script, &about) != 0)
        fail(path);
    const auto size = static_cast<uint64_t>(about.st_size);
    if (size >= sizeof(End))
        read_fully(size - sizeof(End), &g_end, sizeof(End));
    if (g_end.magic != kMagic || g_end.tables > size - sizeof(End)) {
        fprintf(stderr, "%s: not a script of this player\n", path);
        _exit(1);
    }
    const uint64_t bytes = size - sizeof(End) - g_end.tables;
    void* tables = ready(bytes);
    read_fully(g_end.tables, tables, bytes);
    g_chunks = static_cast<const Chunk*>(tables);
    g_threads = reinterpret_cast<const Thread*>(g_chunks + g_end.chunks);
    const auto* windows = reinterpret_cast<const uint32_t*>(g_threads + g_end.threads);
    g_windows = static_cast<Window*>(ready(g_end.windows * sizeof(Window)));
    for (uint64_t i = 0; i < g_end.windows; ++i)
        g_windows[i].store(windows[i], std::memory_order_relaxed);
    g_shared = static_cast<SharedSlot*>(ready(g_end.shared_slots * sizeof(SharedSlot)));
    g_slots = static_cast<void***>(ready(g_end.threads * sizeof(void**)));
    g_rooms = static_cast<Step**>(ready(g_end.threads * sizeof(Step*)));
    g_pools = static_cast<Pool*>(ready(g_end.pools * sizeof(Pool)));
    for (uint32_t i = 0; i < g_end.pools; ++i)
        g_pools[i] = Pool{};
    g_results = static_cast<Result*>(ready(g_end.threads * sizeof(Result)));
    for (uint32_t i = 0; i < g_end.threads; ++i) {
        g_slots[i] = static_cast<void**>(ready(g_threads[i].slots * sizeof(void*)));
        uint64_t most = 0;
        for (uint64_t chunk = 0; chunk < g_threads[i].chunks; ++chunk) {
            const uint64_t steps = g_chunks[g_threads[i].first + chunk].steps;
            most = steps > most ? steps : most;
        }
        g_rooms[i] = static_cast<Step*>(ready(most * sizeof(Step)));
    }
}

} // namespace
} // namespace memtoll::player

int main(int count, char** arguments) {
    using namespace memtoll::player;
    if (count != 3) {
        fputs("usage: player SCRIPT real|stub\n", stderr);
        return 2;
    }
    load(arguments[1]);
    g_is_stub = strcmp(arguments[2], "stub") == 0;
    const bool is_peak_own = forget_peak();
    const uint64_t before_kib = status("VmRSS:");
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    g_began = now_ns();
    if (g_end.threads > 0) {
        run(0);
        uint64_t slept = 0;
        await_ends(g_end.threads - 1, slept);
    }
    const uint64_t wall = now_ns() - g_began;
    getrusage(RUSAGE_SELF, &after);
    const uint64_t peak_kib = status("VmHWM:"), end_kib = status("VmRSS:");
    uint64_t waited = 0, slept = 0, refused = 0;
    for (uint32_t i = 0; i < g_end.threads; ++i) {
        const Result& one = g_results[i];
        const uint64_t accounted = one.cpu + one.queued + one.slept;
        waited += one.wall > accounted ? one.wall - accounted : 0;
        slept += one.slept;
        refused += one.refused;
    }
    // Without a buffer from the allocator.
    static char text[1024];
    const int length = snprintf(
           text, sizeof(text),
           "{\"wall_ns\": %llu, \"user_ns\": %llu, \"system_ns\": %llu, \"minor_faults\": %ld, \"major_faults\": %ld, "
           "\"waiting_ns\": %llu, \"order_ns\": %llu, \"refused\": %llu, \"peak_bytes\": %lld, \"end_bytes\": %lld, "
           "\"start_ns\": %llu, \"start_faults\": %ld}\n",
           static_cast<unsigned long long>(wall),
           static_cast<unsigned long long>((micro(after.ru_utime) - micro(before.ru_utime)) * 1000),
           static_cast<unsigned long long>((micro(after.ru_stime) - micro(before.ru_stime)) * 1000),
           after.ru_minflt - before.ru_minflt, after.ru_majflt - before.ru_majflt,
           static_cast<unsigned long long>(waited), static_cast<unsigned long long>(slept),
           static_cast<unsigned long long>(refused),
           is_peak_own ? (static_cast<long long>(peak_kib) - static_cast<long long>(before_kib)) * 1024 : -1,
           (static_cast<long long>(end_kib) - static_cast<long long>(before_kib)) * 1024,
           static_cast<unsigned long long>((micro(before.ru_utime) + micro(before.ru_stime)) * 1000),
           before.ru_minflt + before.ru_majflt);
    return length > 0 && write(STDOUT_FILENO, text, static_cast<size_t>(length)) == length ? 0 : 1;
}
