// x86-64: zeroing.hpp of the folder above says what is what.
#pragma once

#include <cpuid.h>
#include <cstddef>

namespace memtoll::arch {

class KernelZeroing {
public:
    void zero(void* page, size_t bytes) const {
        size_t count = by_bytes_ ? bytes : bytes / 8;
        if (by_bytes_)
            asm volatile("rep stosb" : "+D"(page), "+c"(count) : "a"(0) : "memory");
        else
            asm volatile("rep stosq" : "+D"(page), "+c"(count) : "a"(0ull) : "memory");
    }

private:
    // Whether this processor is fast with bytes ("erms"). In a virtual machine, the question costs some 10 us: the host
    // answers it.
    static bool is_fast_with_bytes() {
        unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
        return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & (1u << 9)) != 0;
    }

    bool by_bytes_ = is_fast_with_bytes();
};

} // namespace memtoll::arch
