// Copies of less than 64 bytes without a branch, whatever their length: the processor leaves out the bytes that are not
// there. For processors with AVX-512; what is short is copied by copy_short() elsewhere.
#pragma once

#include <cstddef>

// Not where a sanitizer watches what is read: it does not look into assembler. And Windows does not say which registers
// of these a function may change.
#if defined(__x86_64__) && defined(__LP64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MEMTOLL_DETAIL_COPIES_MASKED 1
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#undef MEMTOLL_DETAIL_COPIES_MASKED
#endif
#endif
#endif

namespace memtoll::detail {

#ifdef MEMTOLL_DETAIL_COPIES_MASKED

// Whether this processor can. Before it is initialised: no.
inline const bool can_copy_masked = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");

// What copy_masked() changes must be known in each function that it is inlined into, also in one that is for AVX-512
// ([[gnu::target]]) where the rest of the program is not. clang always lets us name the registers. gcc does so only where it
// may use them itself; elsewhere it must not look into the function, and expects of the call that it changes them all.
#if defined(__AVX512F__) || defined(__clang__)
#define MEMTOLL_DETAIL_OUT_OF_LINE
#define MEMTOLL_DETAIL_MASKED_REGISTERS , "xmm16", "xmm17", "k1", "k2"
#else
#define MEMTOLL_DETAIL_OUT_OF_LINE [[gnu::noipa]]
#define MEMTOLL_DETAIL_MASKED_REGISTERS
#endif

// Copies `bytes`, less than 64, and writes zeros behind them: 64 bytes in all. Assembler, because a function for another
// processor than the compiler's cannot be inlined.
MEMTOLL_DETAIL_OUT_OF_LINE inline void copy_masked(void* to, const void* from, std::size_t bytes) noexcept {
    std::size_t mask = ~std::size_t{0};
    // Not in registers that older vector instructions have, too: the processor needs no vzeroupper.
    asm volatile("bzhi %[bytes], %[mask], %[mask]\n\t"
                 "kmovd %k[mask], %%k1\n\t"
                 "shr $32, %[mask]\n\t"
                 "kmovd %k[mask], %%k2\n\t"
                 "vmovdqu8 (%[from]), %%ymm16%{%%k1%}%{z%}\n\t"
                 "vmovdqu8 32(%[from]), %%ymm17%{%%k2%}%{z%}\n\t"
                 "vmovdqu8 %%ymm16, (%[to])\n\t"
                 "vmovdqu8 %%ymm17, 32(%[to])"
                 : [mask] "+&r"(mask)
                 : [to] "r"(to), [from] "r"(from), [bytes] "r"(bytes)
                 : "cc", "memory" MEMTOLL_DETAIL_MASKED_REGISTERS);
}

#undef MEMTOLL_DETAIL_OUT_OF_LINE
#undef MEMTOLL_DETAIL_MASKED_REGISTERS

#else

constexpr bool can_copy_masked = false;
inline void copy_masked(void*, const void*, std::size_t) noexcept {}

#endif

} // namespace memtoll::detail
