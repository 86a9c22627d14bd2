#include "ways.hpp"

#include <cstdio>
#include <windows.h>

namespace memtoll::machine {

const size_t kPage = [] {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return size_t{info.dwPageSize};
}();

namespace {

// --- Memory that is taken for each use -------------------------------------------------------------------------------

const char* allocate_with(Memory& memory, DWORD type) {
    memory.start = static_cast<char*>(VirtualAlloc(nullptr, memory.bytes, type, PAGE_READWRITE));
    return memory.start == nullptr ? "VirtualAlloc" : nullptr;
}

const char* allocate(Memory& memory) { return allocate_with(memory, MEM_RESERVE | MEM_COMMIT); }

const char* allocate_large_pages(Memory& memory) {
    return allocate_with(memory, MEM_RESERVE | MEM_COMMIT | MEM_LARGE_PAGES);
}

const char* release(Memory& memory) {
    return VirtualFree(memory.start, 0, MEM_RELEASE) ? nullptr : "VirtualFree(MEM_RELEASE)";
}

// --- Memory that is kept ---------------------------------------------------------------------------------------------

const char* allocate_once(Memory& memory) { return memory.start == nullptr ? allocate(memory) : nullptr; }

const char* commit(Memory& memory) {
    if (memory.start == nullptr)
        return allocate(memory);
    const void* start = VirtualAlloc(memory.start, memory.bytes, MEM_COMMIT, PAGE_READWRITE);
    return start == nullptr ? "VirtualAlloc(MEM_COMMIT)" : nullptr;
}

const char* decommit(Memory& memory) {
    return VirtualFree(memory.start, memory.bytes, MEM_DECOMMIT) ? nullptr : "VirtualFree(MEM_DECOMMIT)";
}

const char* reset(Memory& memory) {
    const void* start = VirtualAlloc(memory.start, memory.bytes, MEM_RESET, PAGE_READWRITE);
    return start == nullptr ? "VirtualAlloc(MEM_RESET)" : nullptr;
}

// Fails, which is no error, when the system has taken some of the memory.
const char* undo_reset(Memory& memory) {
    if (memory.start == nullptr)
        return allocate(memory);
    VirtualAlloc(memory.start, memory.bytes, MEM_RESET_UNDO, PAGE_READWRITE);
    return nullptr;
}

const char* no_undo(size_t) {
    // A page that was reset a moment ago is still there.
    void* page = VirtualAlloc(nullptr, kPage, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (page == nullptr)
        return "out of memory";
    *static_cast<volatile char*>(page) = 1;
    const bool works = VirtualAlloc(page, kPage, MEM_RESET, PAGE_READWRITE) != nullptr &&
                       VirtualAlloc(page, kPage, MEM_RESET_UNDO, PAGE_READWRITE) != nullptr;
    VirtualFree(page, 0, MEM_RELEASE);
    return works ? nullptr : "this system does not know MEM_RESET_UNDO (Windows 8)";
}

const char* no_large_pages(size_t) {
    return GetLargePageMinimum() == 0 ? "this processor or system has no large pages" : nullptr;
}

// --- File mappings ---------------------------------------------------------------------------------------------------

const char* map_view(Memory& memory) {
    memory.start = static_cast<char*>(MapViewOfFile(memory.file, FILE_MAP_WRITE, 0, 0, memory.bytes));
    return memory.start == nullptr ? "MapViewOfFile" : nullptr;
}

const char* create_and_map_view(Memory& memory) {
    const auto bytes = static_cast<unsigned long long>(memory.bytes);
    memory.file = CreateFileMappingW(INVALID_HANDLE_VALUE, nullptr, PAGE_READWRITE, static_cast<DWORD>(bytes >> 32),
                                     static_cast<DWORD>(bytes), nullptr);
    return memory.file == nullptr ? "CreateFileMapping" : map_view(memory);
}

const char* unmap_view(Memory& memory) { return UnmapViewOfFile(memory.start) ? nullptr : "UnmapViewOfFile"; }

const char* unmap_view_and_close(Memory& memory) {
    const char* failed = unmap_view(memory);
    CloseHandle(memory.file);
    memory.file = nullptr;
    return failed;
}

const char* map_kept_view(Memory& memory) {
    return memory.file == nullptr ? create_and_map_view(memory) : map_view(memory);
}

} // namespace

const char* failure_reason() {
    static char text[32];
    std::snprintf(text, sizeof text, "error %lu", GetLastError());
    return text;
}

const Way kWays[] = {
    {"keep", "keep it", allocate_once, keep},
    {"reset", "MEM_RESET", allocate_once, reset},
    {"reset-undo", "MEM_RESET, MEM_RESET_UNDO", undo_reset, reset, no_undo},
    {"decommit", "MEM_DECOMMIT, MEM_COMMIT", commit, decommit},
    {"virtualalloc", "VirtualAlloc, MEM_RELEASE", allocate, release},
    {"large-pages", "VirtualAlloc MEM_LARGE_PAGES", allocate_large_pages, release, no_large_pages},
    {"section", "new file mapping, closed", create_and_map_view, unmap_view_and_close},
    {"section-unmap", "kept file mapping, view", map_kept_view, unmap_view},
    {"malloc-large", "malloc, free: one block", take_malloc, give_malloc},
    {"malloc-small", "malloc, free: 64 KiB blocks", take_malloc_blocks, give_malloc_blocks},
};
const size_t kWayCount = sizeof kWays / sizeof *kWays;

} // namespace memtoll::machine
