// x86-64. machine_code.hpp of the folder above says what is what.
#pragma once

#include <cstdint>
#include <cstring>

namespace memtoll::arch {

[[gnu::always_inline]] inline void call_on(char* top, void (*function)()) {
    asm volatile("movq %%rsp, %%rbx\n\t"
                 "movq %0, %%rsp\n\t"
                 "call *%1\n\t"
                 "movq %%rbx, %%rsp"
                 :
                 : "r"(top), "r"(function)
                 : "rbx", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
}

struct CallingCode {
    static constexpr uintptr_t kLastByteOfCall = 15;
    explicit CallingCode(uintptr_t callee) { memcpy(bytes + 6, &callee, sizeof callee); }
    // sub rsp, 8; movabs rax, callee; call rax; add rsp, 8; ret
    uint8_t bytes[21] = {0x48, 0x83, 0xec, 8, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3};
};

struct RestoringCode {
    static constexpr uintptr_t kLastByteOfCall = 15;
    explicit RestoringCode(uintptr_t callee) { memcpy(bytes + 6, &callee, sizeof callee); }
    // push rbx; mov rbx, rsp; movabs rax, callee; call rax; mov rsp, rbx; pop rbx; ret
    uint8_t bytes[21] = {0x53, 0x48, 0x89, 0xe3, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x48, 0x89, 0xdc, 0x5b, 0xc3};
};

} // namespace memtoll::arch
