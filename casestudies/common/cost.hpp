// What a stretch of a program costs, as the process itself can tell.
#pragma once

#include <sys/resource.h>
#include <time.h>

// From its making on, the whole process. Nothing here allocates.
class Cost {
public:
    // Processor time, user and system, in milliseconds.
    double cpu_ms() const { return cpu_now() - _cpu; }
    long minor_faults() const { return faults_now() - _faults; }

private:
    static double cpu_now() {
        timespec time;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
    }
    static long faults_now() {
        rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_minflt;
    }

    long _faults = faults_now();
    double _cpu = cpu_now();
};
