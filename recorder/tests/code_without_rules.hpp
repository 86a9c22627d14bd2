// Code without call frame information.
#pragma once

#include "arch/machine_code.hpp"
#include "walker.hpp"

#include <cstring>
#include <sys/mman.h>

namespace memtoll::unwind::walks {

inline uintptr_t stack_pointer_at_call;

inline uint32_t node_here() {
    const arch::CallerFrame caller = arch::caller_frame(MEMTOLL_FRAME());
    stack_pointer_at_call = caller.stack_pointer();
    return walker->cache.node(caller);
}

// Copies of a function that calls node_here and returns its result. By default, one that cannot be read.
template <class Code = arch::RestoringCode> struct CodeWithoutRules {
    static constexpr size_t kBytes = 64;
    explicit CodeWithoutRules(size_t copies = 1)
        : bytes(copies * kBytes),
          page(mmap(nullptr, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
        const Code code(reinterpret_cast<uintptr_t>(&node_here));
        for (size_t at = 0; at < bytes; at += kBytes) memcpy(static_cast<char*>(page) + at, code.bytes, sizeof code.bytes);
        static_assert(sizeof code.bytes <= kBytes);
        __builtin___clear_cache(static_cast<char*>(page), static_cast<char*>(page) + bytes);
    }
    ~CodeWithoutRules() { munmap(page, bytes); }
    uint32_t operator()(size_t copy = 0) const {
        return reinterpret_cast<uint32_t (*)()>(static_cast<char*>(page) + copy * kBytes)();
    }
    uintptr_t call(size_t copy = 0) const {
        return reinterpret_cast<uintptr_t>(page) + copy * kBytes + Code::kLastByteOfCall;
    }

    size_t bytes;
    void* page;
};

} // namespace memtoll::unwind::walks
