// Linux: see system_memory.hpp for what the functions do.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

namespace memtoll::detail {

struct system_memory {
    static std::size_t page() noexcept {
        static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        return bytes;
    }

    static std::size_t granularity() noexcept { return page(); }

    static void* reserve(std::size_t bytes, pages kind) noexcept { return map(bytes, kind, PROT_NONE, MAP_NORESERVE); }

    static bool commit(void* at, std::size_t bytes, pages kind) noexcept {
        if (mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0)
            return false;
        advise(at, bytes, kind);
        return true;
    }

    static void decommit(void* at, std::size_t bytes) noexcept {
        // A fresh mapping also takes the memory off what the system has promised, which PROT_NONE alone does not.
        if (mmap(at, bytes, PROT_NONE, kPrivate | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
            madvise(at, bytes, MADV_DONTNEED); // Too many mappings: the memory goes back, the addresses stay usable.
    }

    static void reset(void* at, std::size_t bytes) noexcept { madvise(at, bytes, MADV_FREE); }

    static void* take(std::size_t bytes, pages kind) noexcept {
        void* const at = map(bytes, kind, PROT_READ | PROT_WRITE, 0);
        if (at != nullptr)
            advise(at, bytes, kind);
        return at;
    }

    static void populate(void* at, std::size_t bytes) noexcept {
        constexpr int populate_write = 23; // MADV_POPULATE_WRITE, which older headers do not have
        madvise(at, bytes, populate_write); // Kernels before 5.14 refuse: the pages come when they are touched.
    }

    static void release(void* at, std::size_t bytes) noexcept { munmap(at, bytes); }

private:
    static constexpr int kPrivate = MAP_PRIVATE | MAP_ANONYMOUS;

    // A kernel without huge pages refuses.
    static void advise(void* at, std::size_t bytes, pages kind) noexcept {
        if (kind != pages::normal)
            madvise(at, bytes, kind == pages::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    }

    static void* map(std::size_t bytes, int protection, int flags) noexcept {
        void* const at = mmap(nullptr, bytes, protection, kPrivate | flags, -1, 0);
        return at == MAP_FAILED ? nullptr : at;
    }

    // Huge pages need an address that is a multiple of theirs. Kernels since 6.7 often give such an address by themselves.
    static void* map(std::size_t bytes, pages kind, int protection, int flags) noexcept {
        void* const at = map(bytes, protection, flags);
        if (at == nullptr || kind != pages::huge || reinterpret_cast<std::uintptr_t>(at) % huge_page == 0)
            return at;
        munmap(at, bytes);
        const std::size_t more = bytes + huge_page;
        char* const first = more < bytes ? nullptr : static_cast<char*>(map(more, protection, flags));
        if (first == nullptr) // There is no room for it: any address.
            return map(bytes, protection, flags);
        const std::size_t before = -reinterpret_cast<std::uintptr_t>(first) % huge_page;
        if (before != 0)
            munmap(first, before);
        munmap(first + before + bytes, huge_page - before);
        return first + before;
    }
};

} // namespace memtoll::detail
