#include "clock.hpp"

#include <windows.h>

namespace memtoll::machine {

namespace {

double performance_counter_ns() {
    static const double ns_per_count = [] {
        LARGE_INTEGER frequency;
        QueryPerformanceFrequency(&frequency);
        return 1e9 / static_cast<double>(frequency.QuadPart);
    }();
    LARGE_INTEGER count;
    QueryPerformanceCounter(&count);
    return static_cast<double>(count.QuadPart) * ns_per_count;
}

double thread_cycles() {
    ULONG64 cycles = 0;
    return QueryThreadCycleTime(GetCurrentThread(), &cycles) ? static_cast<double>(cycles) : 0;
}

// Nanoseconds of a cycle, found by working for 20 ms; 0 where the system does not count a thread's cycles.
double measure_ns_per_cycle() {
    const double cycles = thread_cycles();
    const double begin = performance_counter_ns();
    while (performance_counter_ns() - begin < 20e6) {
    }
    const double spent = thread_cycles() - cycles;
    return spent > 0 ? (performance_counter_ns() - begin) / spent : 0;
}

// In steps of the scheduler's tick, about 15 ms.
double thread_times_ns() {
    FILETIME created, ended, kernel, user;
    if (!GetThreadTimes(GetCurrentThread(), &created, &ended, &kernel, &user))
        return 0;
    const auto units = [](const FILETIME& time) {
        return static_cast<double>(time.dwHighDateTime) * 4294967296.0 + static_cast<double>(time.dwLowDateTime);
    };
    return (units(kernel) + units(user)) * 100;
}

} // namespace

double thread_cpu_ns() {
    static const double ns_per_cycle = measure_ns_per_cycle();
    return ns_per_cycle > 0 ? thread_cycles() * ns_per_cycle : thread_times_ns();
}

double wall_ns() { return performance_counter_ns(); }

} // namespace memtoll::machine
