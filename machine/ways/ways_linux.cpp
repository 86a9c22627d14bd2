#include "ways.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// Newer than some C libraries; the kernel refuses what it does not know.
#ifndef MADV_COLD
#define MADV_COLD 20
#endif
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace memtoll::machine {

const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));

namespace {

// --- Mappings that are made for each use -----------------------------------------------------------------------------

const char* map_with(Memory& memory, int flags) {
    void* start = mmap(nullptr, memory.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (start == MAP_FAILED)
        return "mmap";
    memory.start = static_cast<char*>(start);
    return nullptr;
}

const char* map(Memory& memory) { return map_with(memory, 0); }
const char* map_populated(Memory& memory) { return map_with(memory, MAP_POPULATE); }
const char* map_hugetlb(Memory& memory) { return map_with(memory, MAP_HUGETLB); }

const char* unmap(Memory& memory) { return munmap(memory.start, memory.bytes) == 0 ? nullptr : "munmap"; }

const char* map_and_populate(Memory& memory) {
    if (const char* failed = map(memory))
        return failed;
    return madvise(memory.start, memory.bytes, MADV_POPULATE_WRITE) == 0 ? nullptr : "madvise(MADV_POPULATE_WRITE)";
}

const char* map_huge(Memory& memory) {
    memory.mapping_bytes = memory.bytes + kHugePage; // room to align
    memory.mapping = mmap(nullptr, memory.mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory.mapping == MAP_FAILED)
        return "mmap";
    const auto address = reinterpret_cast<uintptr_t>(memory.mapping);
    memory.start = static_cast<char*>(memory.mapping) + (kHugePage - address % kHugePage) % kHugePage;
    return madvise(memory.start, memory.bytes, MADV_HUGEPAGE) == 0 ? nullptr : "madvise(MADV_HUGEPAGE)";
}

const char* unmap_huge(Memory& memory) {
    return munmap(memory.mapping, memory.mapping_bytes) == 0 ? nullptr : "munmap";
}

// --- The heap's end --------------------------------------------------------------------------------------------------

const char* grow_heap(Memory& memory) {
    void* start = sbrk(static_cast<intptr_t>(memory.bytes));
    if (start == reinterpret_cast<void*>(-1))
        return "brk";
    memory.start = static_cast<char*>(start);
    return nullptr;
}

const char* shrink_heap(Memory& memory) {
    return sbrk(-static_cast<intptr_t>(memory.bytes)) == reinterpret_cast<void*>(-1) ? "brk" : nullptr;
}

// --- One mapping that is kept ----------------------------------------------------------------------------------------

const char* map_once(Memory& memory) { return memory.start == nullptr ? map(memory) : nullptr; }

template <int advice> const char* advise(Memory& memory) {
    return madvise(memory.start, memory.bytes, advice) == 0 ? nullptr : "madvise";
}

const char* allow_access(Memory& memory) {
    if (memory.start == nullptr)
        return map(memory);
    return mprotect(memory.start, memory.bytes, PROT_READ | PROT_WRITE) == 0 ? nullptr : "mprotect";
}

const char* map_over_without_access(Memory& memory) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
    return mmap(memory.start, memory.bytes, PROT_NONE, flags, -1, 0) == MAP_FAILED ? "mmap(PROT_NONE)" : nullptr;
}

const char* grow_mapping(Memory& memory) {
    if (memory.start == nullptr)
        return map(memory);
    void* start = mremap(memory.start, kPage, memory.bytes, MREMAP_MAYMOVE);
    if (start == MAP_FAILED)
        return "mremap";
    memory.start = static_cast<char*>(start);
    return nullptr;
}

const char* shrink_mapping(Memory& memory) {
    return mremap(memory.start, memory.bytes, kPage, 0) == MAP_FAILED ? "mremap" : nullptr;
}

// --- Files in memory -------------------------------------------------------------------------------------------------

int descriptor(const Memory& memory) { return static_cast<int>(reinterpret_cast<intptr_t>(memory.file)) - 1; }

const char* create_file(Memory& memory) {
    // glibc has a function for it since 2.27, which older systems lack.
    const int file = static_cast<int>(syscall(SYS_memfd_create, "memtoll", MFD_CLOEXEC));
    if (file < 0)
        return "memfd_create";
    memory.file = reinterpret_cast<void*>(intptr_t{file} + 1);
    return ftruncate(file, static_cast<off_t>(memory.bytes)) == 0 ? nullptr : "ftruncate";
}

const char* map_file(Memory& memory) {
    void* start = mmap(nullptr, memory.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor(memory), 0);
    if (start == MAP_FAILED)
        return "mmap";
    memory.start = static_cast<char*>(start);
    return nullptr;
}

const char* create_and_map_file(Memory& memory) {
    const char* failed = create_file(memory);
    return failed != nullptr ? failed : map_file(memory);
}

const char* unmap_and_close_file(Memory& memory) {
    const char* failed = unmap(memory);
    close(descriptor(memory));
    memory.file = nullptr;
    return failed;
}

const char* map_kept_file(Memory& memory) {
    return memory.file == nullptr ? create_and_map_file(memory) : map_file(memory);
}

const char* map_file_once(Memory& memory) { return memory.start == nullptr ? create_and_map_file(memory) : nullptr; }

const char* punch_hole(Memory& memory) {
    const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    return fallocate(descriptor(memory), mode, 0, static_cast<off_t>(memory.bytes)) == 0 ? nullptr : "fallocate";
}

// --- malloc ----------------------------------------------------------------------------------------------------------

// Where the threshold is not set, it rises with the first block that is freed, up to 32 MiB.
void fix_mmap_threshold() { mallopt(M_MMAP_THRESHOLD, 128 << 10); }

const char* take_mapped_block(Memory& memory) {
    fix_mmap_threshold();
    return take_malloc(memory);
}

const char* take_untrimmed_blocks(Memory& memory) {
    mallopt(M_TRIM_THRESHOLD, -1); // as a size: never
    fix_mmap_threshold();
    return take_malloc_blocks(memory);
}

// --- Obstacles -------------------------------------------------------------------------------------------------------

// Reads the start of a small file of the kernel's; empty if there is none.
const char* read_setting(const char* path) {
    static char text[4096];
    std::FILE* file = std::fopen(path, "r");
    const size_t length = file == nullptr ? 0 : std::fread(text, 1, sizeof text - 1, file);
    if (file != nullptr)
        std::fclose(file);
    text[length] = 0;
    return text;
}

const char* no_huge_pages(size_t) {
    const char* setting = read_setting("/sys/kernel/mm/transparent_hugepage/enabled");
    if (*setting == 0)
        return "this kernel has no transparent huge pages";
    return std::strstr(setting, "[never]") == nullptr
               ? nullptr
               : "transparent huge pages are off (/sys/kernel/mm/transparent_hugepage/enabled)";
}

const char* no_hugetlb(size_t bytes) {
    static char reason[160];
    const size_t wanted = bytes / kHugePage;
    const char* path = "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages";
    size_t free_pages = 0;
    if (std::sscanf(read_setting(path), "%zu", &free_pages) != 1)
        return "this kernel has no hugetlb pages of 2 MiB";
    if (free_pages >= wanted)
        return nullptr;
    std::snprintf(reason, sizeof reason, "%zu huge pages are reserved and free, %zu needed (sysctl vm.nr_hugepages)",
                  free_pages, wanted);
    return reason;
}

const char* no_swap(size_t) {
    // A line of headings, and one for each area.
    const char* areas = std::strchr(read_setting("/proc/swaps"), '\n');
    return areas == nullptr || areas[1] == 0 ? "there is no swap to page out to" : nullptr;
}

} // namespace

const char* failure_reason() { return std::strerror(errno); }

const Way kWays[] = {
    {"keep", "keep it", map_once, keep},
    {"free", "MADV_FREE", map_once, advise<MADV_FREE>},
    {"cold", "MADV_COLD", map_once, advise<MADV_COLD>},
    {"pageout", "MADV_PAGEOUT", map_once, advise<MADV_PAGEOUT>, no_swap},
    {"dontneed", "MADV_DONTNEED", map_once, advise<MADV_DONTNEED>},
    {"decommit", "PROT_NONE over it, mprotect", allow_access, map_over_without_access},
    {"mremap", "mremap down and up", grow_mapping, shrink_mapping},
    {"mmap", "mmap, munmap", map, unmap},
    {"mmap-populate", "mmap MAP_POPULATE, munmap", map_populated, unmap},
    {"madvise-populate", "MADV_POPULATE_WRITE, munmap", map_and_populate, unmap},
    {"huge", "MADV_HUGEPAGE, munmap", map_huge, unmap_huge, no_huge_pages},
    {"hugetlb", "mmap MAP_HUGETLB, munmap", map_hugetlb, unmap, no_hugetlb},
    {"memfd", "new memfd, closed", create_and_map_file, unmap_and_close_file},
    {"memfd-punch", "kept memfd, PUNCH_HOLE", map_file_once, punch_hole},
    {"memfd-unmap", "kept memfd, mmap, munmap", map_kept_file, unmap},
    {"brk", "brk up and down", grow_heap, shrink_heap, nullptr, false},
    {"malloc-large", "malloc, free: one block", take_mapped_block, give_malloc},
    {"malloc-small", "malloc, free: 64 KiB blocks", take_malloc_blocks, give_malloc_blocks},
    {"malloc-untrimmed", "malloc, free: never trimmed", take_untrimmed_blocks, give_malloc_blocks},
};
const size_t kWayCount = sizeof kWays / sizeof *kWays;

} // namespace memtoll::machine
