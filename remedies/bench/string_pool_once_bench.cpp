// A dictionary that is loaded once and destroyed: each time in a process of its own, so that page faults count. Nothing else
// is measured in this program, because the processes inherit its heap.
#include "dictionary.hpp"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <ctime>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace dictionary;

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// CPU seconds of `work`, in a process of its own.
template <class Work> double in_fresh_process(Work work) {
    static auto* const result =
        static_cast<double*>(mmap(nullptr, sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    const pid_t child = fork();
    if (child == 0) {
        *result = work();
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        std::abort();
    return *result;
}

template <class Way> void load_once(benchmark::State& state) {
    for (auto _ : state)
        state.SetIterationTime(in_fresh_process([] {
            std::vector<entry> entries(kEntries);
            const double begin = cpu_seconds();
            {
                Way way;
                fill(entries, way);
                way.destroy(entries);
            }
            return cpu_seconds() - begin;
        }));
}

#define LOAD_ONCE(WAY) BENCHMARK(load_once<WAY>)->UseManualTime()->Unit(benchmark::kMillisecond)
LOAD_ONCE(new_delete);
LOAD_ONCE(pmr_pool);
LOAD_ONCE(boost_pool);
LOAD_ONCE(pmr_monotonic);
LOAD_ONCE(pmr_monotonic_reserved);
LOAD_ONCE(string_pool_huge_pages);
LOAD_ONCE(string_pool_reserved);
LOAD_ONCE(string_pool_shrunk);
LOAD_ONCE(string_pool);

} // namespace
