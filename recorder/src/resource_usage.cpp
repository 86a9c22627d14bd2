#include "resource_usage.hpp"

#include "footprint.hpp"
#include "kernel.hpp"

#include <sys/resource.h>

namespace memtoll {
namespace {

uint64_t nanoseconds(const timeval& time) {
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_usec) * 1'000u;
}

} // namespace

void append_usage(ThreadLog& log, wire::UsageBlob::Scope scope) {
    const long whose = scope == wire::UsageBlob::kThread ? kernel::kThisThread : long{RUSAGE_SELF};
    rusage usage;
    if (kernel::failed(kernel::call(SYS_getrusage, whose, reinterpret_cast<long>(&usage)))) return;
    const auto peak = scope == wire::UsageBlob::kProcess ? footprint::look() : ResidentPeak::Figures{};
    const wire::UsageBlob blob{
        .user_ns = nanoseconds(usage.ru_utime),
        .system_ns = nanoseconds(usage.ru_stime),
        .minor_faults = static_cast<uint64_t>(usage.ru_minflt),
        .major_faults = static_cast<uint64_t>(usage.ru_majflt),
        .voluntary_switches = static_cast<uint64_t>(usage.ru_nvcsw),
        .involuntary_switches = static_cast<uint64_t>(usage.ru_nivcsw),
        .program_rss_kib = peak.program_kib,
        .recorder_rss_kib = peak.recorder_kib,
        .rss_error_kib = peak.error_kib,
        .program_now_kib = peak.now_kib,
        .now_error_kib = peak.now_error_kib,
        .scope = scope,
        .tid = kernel::thread_id(),
    };
    append_blob(log, wire::kUsage, &blob, sizeof blob, "", 0);
}

bool has_used_much() {
    constexpr uint64_t kNanoseconds = 20'000'000;
    constexpr long kKib = 16 << 10;
    rusage usage;
    if (kernel::failed(kernel::call(SYS_getrusage, RUSAGE_SELF, reinterpret_cast<long>(&usage)))) return false;
    return nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime) >= kNanoseconds || usage.ru_maxrss >= kKib;
}

uint64_t faults_of_this_thread() {
    rusage usage;
    if (kernel::failed(kernel::call(SYS_getrusage, kernel::kThisThread, reinterpret_cast<long>(&usage)))) return 0;
    return static_cast<uint64_t>(usage.ru_minflt) + static_cast<uint64_t>(usage.ru_majflt);
}

} // namespace memtoll
