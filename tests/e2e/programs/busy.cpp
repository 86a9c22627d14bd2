// A million calls by three threads: blocks with short and with long lives, reallocations, own mappings; the
// number of live blocks rises, falls and rises again.
#include <cstdlib>
#include <sys/mman.h>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kRounds = 100000;
constexpr size_t kPage = 4096;

[[gnu::noinline]] void* take_small(unsigned x) { return malloc(16 + x % 200); }
[[gnu::noinline]] void* take_large(unsigned x) { return malloc(2000 + x % 5000); }

void work(unsigned x) {
    std::vector<void*> kept(30000);
    void* mapping = nullptr;
    for (unsigned i = 0; i < kRounds; ++i) {
        x = x * 1664525 + 1013904223;
        void*& block = kept[(x >> 8) % kept.size()];
        // Waves: for some time more is taken than is given back.
        if (block == nullptr) block = (x >> 28) == 0 ? take_large(x) : take_small(x);
        else if ((x >> 30) == 0) block = realloc(block, 300 + x % 300);
        else if ((i / 20000) % 2 == 0 || (x & 64) != 0) {
            free(block);
            block = nullptr;
        }
        free(take_small(x));
        if (i % 10000 == 5000) mapping = mmap(nullptr, 64 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (i % 10000 == 9000) munmap(mapping, 64 * kPage);
    }
    for (void* block : kept) free(block);
}

} // namespace

int main() {
    std::vector<std::thread> threads;
    for (unsigned seed = 1; seed <= 2; ++seed) threads.emplace_back(work, seed);
    work(3);
    for (std::thread& thread : threads) thread.join();
}
