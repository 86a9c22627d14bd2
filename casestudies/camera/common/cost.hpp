// What the frames cost, as the process itself can tell.
#pragma once

#include <chrono>
#include <sys/resource.h>
#include <time.h>

// Processor time of the calling thread, user and system, added up over several stretches. Reading the clock costs about
// half a microsecond, which is included.
class ThreadTime {
public:
    void start() { _start = now(); }
    void stop() { _total += now() - _start; }
    double milliseconds() const { return std::chrono::duration<double, std::milli>(_total).count(); }

private:
    static std::chrono::nanoseconds now() {
        timespec time;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
    }
    std::chrono::nanoseconds _start{}, _total{};
};

// Of the whole process until now.
struct ProcessCost {
    double user_ms;
    double system_ms;
    long minor_faults;

    static ProcessCost now() {
        rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        const auto ms = [](timeval time) {
            return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
        };
        return {ms(usage.ru_utime), ms(usage.ru_stime), usage.ru_minflt};
    }
};
