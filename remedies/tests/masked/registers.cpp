// copy_masked() in a function for AVX-512 of a program that is not: all vector and mask registers hold something across it.
// CMakeLists.txt looks into the assembler of hold(), which any machine can: some of that must be kept elsewhere meanwhile.
// Where the processor can, hold() also runs.
#include <memtoll/detail/copy_masked.hpp>

#include <cstdio>
#include <cstring>
#include <immintrin.h>

#define EACH_VECTOR(DO)                                                                                                 \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)               \
    DO(16) DO(17) DO(18) DO(19) DO(20) DO(21) DO(22) DO(23) DO(24) DO(25) DO(26) DO(27) DO(28) DO(29) DO(30) DO(31)
#define EACH_MASK(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)

#define LOAD_VECTOR(N) __m512 vector##N = _mm512_loadu_ps(vectors + 16 * N);
#define LOAD_MASK(N) __mmask64 mask##N = _cvtu64_mask64(masks[N]);
#define IN_REGISTER_VECTOR(N) asm volatile("" : "+v"(vector##N));
#define IN_REGISTER_MASK(N) asm volatile("" : "+Yk"(mask##N));
#define STORE_VECTOR(N) _mm512_storeu_ps(vectors + 16 * N, vector##N);
#define STORE_MASK(N) masks[N] = _cvtmask64_u64(mask##N);

extern "C" [[gnu::noinline, gnu::target("avx512f,avx512bw,avx512vl")]] void
hold(float* vectors, unsigned long long* masks, char* to, const char* from, std::size_t bytes) {
    EACH_VECTOR(LOAD_VECTOR)
    EACH_MASK(LOAD_MASK)
    EACH_VECTOR(IN_REGISTER_VECTOR)
    EACH_MASK(IN_REGISTER_MASK)
    memtoll::detail::copy_masked(to, from, bytes);
    EACH_VECTOR(IN_REGISTER_VECTOR)
    EACH_MASK(IN_REGISTER_MASK)
    EACH_VECTOR(STORE_VECTOR)
    EACH_MASK(STORE_MASK)
}

int main() {
    if (!memtoll::detail::can_copy_masked) {
        std::puts("this processor has no AVX-512: only the assembler was looked at");
        return 0;
    }
    for (std::size_t bytes = 0; bytes < 64; ++bytes) {
        float vectors[32 * 16], vectors_before[32 * 16];
        for (int i = 0; i < 32 * 16; ++i) vectors[i] = vectors_before[i] = static_cast<float>(i);
        unsigned long long masks[8], masks_before[8];
        for (unsigned i = 0; i < 8; ++i) masks[i] = masks_before[i] = 0x9e3779b97f4a7c15ull * (i + 1);
        char from[64], to[64], expected[64] = {};
        for (int i = 0; i < 64; ++i) from[i] = static_cast<char>(i + 1);
        std::memset(to, -1, sizeof to);
        std::memcpy(expected, from, bytes);
        hold(vectors, masks, to, from, bytes);
        const bool kept_vectors = std::memcmp(vectors, vectors_before, sizeof vectors) == 0;
        const bool kept_masks = std::memcmp(masks, masks_before, sizeof masks) == 0;
        const bool copied = std::memcmp(to, expected, sizeof to) == 0;
        if (kept_vectors && kept_masks && copied) continue;
        std::printf("%zu bytes: vectors %s, masks %s, copy %s\n", bytes, kept_vectors ? "kept" : "lost",
                    kept_masks ? "kept" : "lost", copied ? "right" : "wrong");
        return 1;
    }
}
