// Windows: see system_memory.hpp for what the functions do. Large pages need a privilege and cannot be committed bit by
// bit, so `pages::huge` means ordinary pages here.
#pragma once

#include <cstddef>

#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

namespace memtoll::detail {

struct system_memory {
    static std::size_t page() noexcept { return information().dwPageSize; }

    static std::size_t granularity() noexcept { return information().dwAllocationGranularity; }

    static void* reserve(std::size_t bytes, pages) noexcept {
        return VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS);
    }

    static bool commit(void* at, std::size_t bytes, pages) noexcept {
        return VirtualAlloc(at, bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr;
    }

    static void decommit(void* at, std::size_t bytes) noexcept { VirtualFree(at, bytes, MEM_DECOMMIT); }

    static void reset(void* at, std::size_t bytes) noexcept { VirtualAlloc(at, bytes, MEM_RESET, PAGE_READWRITE); }

    static void* take(std::size_t bytes, pages) noexcept {
        return VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    }

    // Pages come when they are touched.
    static void populate(void*, std::size_t) noexcept {}

    static void release(void* at, std::size_t) noexcept { VirtualFree(at, 0, MEM_RELEASE); }

private:
    static const SYSTEM_INFO& information() noexcept {
        static const SYSTEM_INFO found = [] {
            SYSTEM_INFO asked;
            GetSystemInfo(&asked);
            return asked;
        }();
        return found;
    }
};

} // namespace memtoll::detail
