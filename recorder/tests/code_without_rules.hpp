// Code without call frame information.
#pragma once

#include "walker.hpp"

#include <cstring>
#include <sys/mman.h>

namespace memtoll::unwind::walks {

inline uintptr_t stack_pointer_at_call;

inline uint32_t node_here() {
    const arch::CallerFrame caller = MEMTOLL_CALLER_FRAME();
    stack_pointer_at_call = caller.return_slot + sizeof(uintptr_t);
    return walker->cache.node(caller);
}

// Copies of a function that calls node_here and returns its result.
struct CodeWithoutRules {
    static constexpr size_t kBytes = 32;
    explicit CodeWithoutRules(size_t copies = 1)
        : bytes(copies * kBytes),
          page(mmap(nullptr, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
        // sub rsp, 8; movabs rax, node_here; call rax; add rsp, 8; ret
        uint8_t code[] = {0x48, 0x83, 0xec, 8, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3};
        const auto function = reinterpret_cast<uintptr_t>(&node_here);
        memcpy(code + 6, &function, sizeof function);
        for (size_t at = 0; at < bytes; at += kBytes) memcpy(static_cast<char*>(page) + at, code, sizeof code);
    }
    ~CodeWithoutRules() { munmap(page, bytes); }
    uint32_t operator()(size_t copy = 0) const {
        return reinterpret_cast<uint32_t (*)()>(static_cast<char*>(page) + copy * kBytes)();
    }
    uintptr_t call(size_t copy = 0) const { return reinterpret_cast<uintptr_t>(page) + copy * kBytes + 15; }

    size_t bytes;
    void* page;
};

} // namespace memtoll::unwind::walks
