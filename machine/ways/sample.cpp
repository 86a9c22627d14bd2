#include "sample.hpp"

#include "../common/clock.hpp"
#include "../common/threads.hpp"
#include "residency.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace memtoll::machine {

namespace {

constexpr size_t kUses = 2; // the first, and one more
enum Phase { kTake, kTouch, kGive, kPhases };

struct Use {
    double cpu_ns[kPhases];
    double wall_ns[kPhases];
    Latencies latencies;
};

struct Worker {
    Memory memory;
    Use uses[kUses];
    char** blocks;
    const char* failed_call;
    char reason[128];
};

struct Sample {
    const Way& way;
    const Touch how;
    const size_t threads;
    Worker* workers;
    Memory* memories; // as they were when the residency was looked at
    double cpu_stamp;
    double wall_stamp;
    Barrier barrier;
    std::atomic<bool> failed{false};
    Residency before, touched, given;

    Residency look() {
        for (size_t i = 0; i < threads; ++i)
            memories[i] = workers[i].memory;
        return residency(memories, threads);
    }

    // Runs a phase with its clocks; nothing if something has failed before.
    template <class Work> void phase(Worker& worker, Use& use, Phase which, Work work) {
        if (failed.load(std::memory_order_relaxed))
            return;
        const double wall = wall_ns();
        const double cpu = thread_cpu_ns();
        const char* failure = work();
        const double spent = thread_cpu_ns() - cpu - cpu_stamp;
        use.cpu_ns[which] = spent > 0 ? spent : 0;
        use.wall_ns[which] = wall_ns() - wall;
        if (failure == nullptr)
            return;
        worker.failed_call = failure;
        std::snprintf(worker.reason, sizeof worker.reason, "%s", failure_reason());
        failed.store(true, std::memory_order_relaxed);
    }

    void work(size_t index) {
        Worker& worker = workers[index];
        Memory& memory = worker.memory;
        for (size_t i = 0; i < kUses; ++i) {
            Use& use = worker.uses[i];
            barrier.wait();
            phase(worker, use, kTake, [&] { return way.take(memory); });
            phase(worker, use, kTouch, [&]() -> const char* {
                touch(memory, how, static_cast<char>(i + 1), wall_stamp, use.latencies);
                return nullptr;
            });
            barrier.wait();
            if (index == 0 && i + 1 == kUses)
                touched = look();
            barrier.wait();
            phase(worker, use, kGive, [&] { return way.give(memory); });
        }
        barrier.wait();
        if (index == 0)
            given = look();
    }

    static void work_of(void* sample, size_t index) { static_cast<Sample*>(sample)->work(index); }

    void print_use(size_t which) const {
        double cpu[kPhases] = {}, wall = 0;
        for (size_t i = 0; i < threads; ++i) {
            const Use& use = workers[i].uses[which];
            double own = 0;
            for (size_t k = 0; k < kPhases; ++k) {
                cpu[k] += use.cpu_ns[k];
                own += use.wall_ns[k];
            }
            wall = own > wall ? own : wall;
        }
        std::printf("use %.0f %.0f %.0f %.0f\n", cpu[kTake], cpu[kTouch], cpu[kGive], wall);
        std::printf("latencies");
        for (size_t i = 0; i < threads; ++i)
            for (size_t k = 0; k < workers[i].uses[which].latencies.count; ++k)
                std::printf(" %.0f", static_cast<double>(workers[i].uses[which].latencies.ns[k]));
        std::printf("\n");
    }
};

// Zeroed memory that is resident, so that the bookkeeping has no faults while the clock runs. Never freed.
void* resident_memory(size_t bytes) {
    void* start = std::malloc(bytes);
    if (start != nullptr)
        std::memset(start, 0, bytes);
    return start;
}

} // namespace

bool take_sample(const Way& way, Touch how, size_t bytes_per_thread, size_t threads) {
    auto* workers = static_cast<Worker*>(resident_memory(threads * sizeof(Worker)));
    auto* memories = static_cast<Memory*>(resident_memory(threads * sizeof(Memory)));
    auto* blocks = static_cast<char**>(resident_memory(threads * (bytes_per_thread / kBlock) * sizeof(char*)));
    if (workers == nullptr || memories == nullptr || blocks == nullptr) {
        std::printf("failed malloc: no memory for bookkeeping\n");
        return false;
    }
    for (size_t i = 0; i < threads; ++i) {
        workers[i].memory.bytes = bytes_per_thread;
        workers[i].memory.blocks = blocks + i * (bytes_per_thread / kBlock);
    }
    static char buffer[1 << 16];
    std::setvbuf(stdout, buffer, _IOFBF, sizeof buffer);

    static Sample sample{way, how, threads, workers, memories, empty_span_ns(thread_cpu_ns), empty_span_ns(wall_ns),
                         Barrier(threads), {false}, {}, {}, {}};
    sample.before = sample.look();
    if (!in_threads(threads, Sample::work_of, &sample)) {
        std::printf("failed %zu threads cannot be started\n", threads);
        std::fflush(stdout);
        std::_Exit(0); // some threads may wait for others
    }
    for (size_t i = 0; i < threads; ++i) {
        if (workers[i].failed_call != nullptr) {
            std::printf("failed %s: %s\n", workers[i].failed_call, workers[i].reason);
            return false;
        }
    }
    for (size_t i = 0; i < kUses; ++i)
        sample.print_use(i);
    std::printf("resident %zu %zu %zu %zu %zu %zu\n", sample.before.resident, sample.touched.resident,
                sample.given.resident, sample.given.lazy, sample.given.in_file, sample.touched.huge);
    return true;
}

} // namespace memtoll::machine
