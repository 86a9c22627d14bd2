// Faults, zeroing, mapping and unmapping.
#include "../../recorder/src/arch/zeroing.hpp"
#include "../common/clock.hpp"
#include "operations.hpp"

#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>

namespace memtoll::machine {

namespace {

const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));
constexpr size_t kHugePage = size_t{2} << 20;
// Pages of a sample: enough that reading the clock does not matter, and that a page that is freed and taken again has
// left the first cache, as in a program that frees a buffer and takes the next.
constexpr size_t kPages = 64;
constexpr size_t kSamples = 15;
// Pages of a sample that were touched long before. Each costs a fault in advance.
constexpr size_t kUncached = 24;
constexpr size_t kHugeSamples = 5;
constexpr size_t kCalls = 16;

char* map(size_t bytes) {
    void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return start == MAP_FAILED ? nullptr : static_cast<char*>(start);
}

// Memory in small pages, whatever the machine's setting for huge ones.
char* map_small_pages(size_t bytes) {
    char* start = map(bytes);
    if (start != nullptr)
        madvise(start, bytes, MADV_NOHUGEPAGE);
    return start;
}

void touch_each_page(char* start, size_t pages) {
    for (size_t i = 0; i < pages; ++i)
        *static_cast<volatile char*>(start + i * kPage) = 1;
}

// Whether one fault made the whole huge page resident: the kernel may have none to spare.
bool is_resident(char* page) {
    unsigned char state = 0;
    return mincore(page, kPage, &state) == 0 && (state & 1) != 0;
}

} // namespace

Series* measure_pages(Series* into) {
    Series& fault = into[0] = {"minor_fault", 0, {}};
    Series& zeroing = into[1] = {"zeroing", 0, {}};
    Series& unmap_page = into[2] = {"unmap_page", 0, {}};
    Series& calls = into[3] = {"mmap_munmap", 0, {}};
    Series& huge = into[4] = {"huge_fault", 0, {}};
    Series& cached = into[5] = {"zeroing_cached", 0, {}};
    const double stamp = empty_span_ns(thread_cpu_ns);
    const arch::KernelZeroing kernel;
    const auto zero_pages = [&](char* start, size_t pages) {
        for (size_t i = 0; i < pages; ++i)
            kernel.zero(start + i * kPage, kPage);
    };

    // The first pages are zeroed in each round, the others once, long after they were touched.
    constexpr size_t kResident = kPages + (kSamples + 1) * kUncached;
    char* resident = map_small_pages(kResident * kPage);
    if (resident == nullptr)
        return into;
    touch_each_page(resident, kResident);
    // The first round warms up, and is not counted.
    for (size_t i = 0; i <= kSamples; ++i) {
        const double t0 = thread_cpu_ns();
        for (size_t k = 0; k < kCalls; ++k)
            if (char* unused = map(kPages * kPage))
                munmap(unused, kPages * kPage);
        const double t1 = thread_cpu_ns();
        const double call = (t1 - t0 - stamp) / kCalls;

        char* fresh = map_small_pages(kPages * kPage);
        if (fresh == nullptr)
            break;
        const double t2 = thread_cpu_ns();
        touch_each_page(fresh, kPages);
        const double t3 = thread_cpu_ns();
        munmap(fresh, kPages * kPage);
        const double t4 = thread_cpu_ns();
        zero_pages(resident, kPages);
        const double t5 = thread_cpu_ns();
        zero_pages(resident + (kPages + i * kUncached) * kPage, kUncached);
        const double t6 = thread_cpu_ns();
        if (i == 0)
            continue;
        calls.add(call);
        fault.add((t3 - t2 - stamp) / kPages);
        // About half of an untouched pair is its munmap.
        unmap_page.add((t4 - t3 - stamp - call / 2) / kPages);
        // A page that the kernel hands out may have been freed just now, like those of the faults here, or long ago.
        cached.add((t5 - t4 - stamp) / kPages);
        zeroing.add(((t5 - t4 - stamp) / kPages + (t6 - t5 - stamp) / kUncached) / 2);
    }
    munmap(resident, kResident * kPage);

    for (size_t i = 0; i <= kHugeSamples; ++i) {
        char* room = map(2 * kHugePage);
        if (room == nullptr)
            break;
        const auto misaligned = reinterpret_cast<uintptr_t>(room) % kHugePage;
        char* start = room + (misaligned == 0 ? 0 : kHugePage - misaligned);
        const bool accepted = madvise(start, kHugePage, MADV_HUGEPAGE) == 0;
        const double t0 = thread_cpu_ns();
        touch_each_page(start, 1);
        const double t1 = thread_cpu_ns();
        const bool got_it = accepted && is_resident(start + kHugePage - kPage);
        munmap(room, 2 * kHugePage);
        if (!got_it)
            break;
        if (i > 0)
            huge.add(t1 - t0 - stamp);
    }
    return into + 6;
}

} // namespace memtoll::machine
