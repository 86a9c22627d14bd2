// Does one thing many times, for `make bench-growth`.
//
//   many              lists the ways, each with the number of times for which recording takes about a tenth of a second
//   many WAY TIMES    does it

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <malloc.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "memtoll.h"

namespace {

constexpr std::size_t kPage = 4096;
constexpr int kReadWrite = PROT_READ | PROT_WRITE;

void touch(void* memory) { *static_cast<volatile char*>(memory) = 1; }

void* mapped(std::size_t bytes, int access = kReadWrite) {
    return mmap(nullptr, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

char* reserved(int pages) { return static_cast<char*>(mapped(kPage * pages, PROT_NONE)); }

void map_at(char* place) {
    touch(mmap(place, kPage, kReadWrite, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
}

void one_block() {
    void* block = std::malloc(100);
    touch(block);
    std::free(block);
}

// A call stack of its own for each number.
template <int K>
[[gnu::noinline]] void* nested(int depth, int number) {
    if (depth == 0) return std::malloc(16 + number % 64);
    bool same = (number >> (depth % 20)) & 1;
    void* block = same ? nested<K>(depth - 1, number) : nested<(K + 1) % 8>(depth - 1, number);
    asm volatile("" ::: "memory");
    return block;
}

struct Way {
    const char* name;
    int times; // in the list
    void (*run)(int times);
};

const Way kWays[] = {
    {"map-page-after-page", 4'000, [](int n) { for (int i = 0; i < n; ++i) touch(mapped(kPage)); }},
    {"map-upwards", 4'000, [](int n) { char* all = reserved(n); for (int i = 0; i < n; ++i) map_at(all + i * kPage); }},
    {"map-here-and-there", 4'000, [](int n) { char* all = reserved(n); for (long i = 0; i < n; ++i) map_at(all + i * 7919 % n * kPage); }},
    {"unmap-every-other", 4'000, [](int n) {
        std::vector<void*> pages(n);
        for (auto& page : pages) touch(page = mapped(kPage));
        for (int i = 0; i < n; i += 2) munmap(pages[i], kPage);
        for (int i = 0; i < n; i += 2) touch(mapped(kPage));
    }},
    {"open-and-close-pages", 4'000, [](int n) {
        char* all = reserved(n);
        for (int i = 0; i < n; ++i) {
            mprotect(all + i * kPage, kPage, kReadWrite);
            touch(all + i * kPage);
            mprotect(all + i * kPage, kPage, PROT_NONE);
        }
    }},
    {"give-pages-back", 10'000, [](int n) {
        char* all = static_cast<char*>(mapped(kPage * n));
        for (int i = 0; i < n; ++i) { touch(all + i * kPage); madvise(all + i * kPage, kPage, MADV_DONTNEED); }
    }},
    {"grow-by-mremap", 4'000, [](int n) {
        void* all = mapped(kPage);
        for (int i = 1; i < n; ++i) touch(all = mremap(all, kPage * i, kPage * (i + 1), MREMAP_MAYMOVE));
    }},
    {"move-the-break", 5'000, [](int n) { for (int i = 0; i < n; ++i) { touch(sbrk(kPage)); if (i % 2) sbrk(-static_cast<long>(kPage)); } }},
    {"trim", 2'000, [](int n) { for (int i = 0; i < n; ++i) { one_block(); malloc_trim(0); } }},
    {"blocks-of-their-own-mapping", 4'000, [](int n) {
        std::vector<void*> blocks(n);
        for (auto& block : blocks) touch(block = std::malloc(140000));
        for (int i = 0; i < n; i += 2) std::free(blocks[i]);
        for (int i = 0; i < n; i += 2) touch(std::malloc(140000));
    }},
    {"reallocate", 20'000, [](int n) { void* block = nullptr; for (int i = 1; i <= n; ++i) touch(block = std::realloc(block, i * 16)); }},
    {"reallocate-mapped", 3'000, [](int n) { void* block = nullptr; for (int i = 1; i <= n; ++i) touch(block = std::realloc(block, 200000 + i * kPage)); }},
    {"live-blocks", 100'000, [](int n) {
        std::vector<void*> blocks(n);
        for (int i = 0; i < n; ++i) blocks[i] = std::malloc(24 + i % 1000);
        std::reverse(blocks.begin(), blocks.end());
        for (void* block : blocks) std::free(block);
    }},
    {"sizes", 100'000, [](int n) { for (long i = 0; i < n; ++i) { void* block = std::malloc(i * 7 % 1000000); touch(block); std::free(block); } }},
    {"aligned", 20'000, [](int n) { for (int i = 0; i < n; ++i) { void* block = std::aligned_alloc(kPage, kPage); touch(block); if (i % 2) std::free(block); } }},
    {"call-stacks", 20'000, [](int n) { for (int i = 0; i < n; ++i) touch(nested<0>(20, i)); }},
    {"threads-in-turn", 1'000, [](int n) { for (int i = 0; i < n; ++i) std::thread(one_block).join(); }},
    {"threads-at-once", 300, [](int n) {
        std::vector<std::thread> threads;
        for (int i = 0; i < n; ++i) threads.emplace_back([] { one_block(); usleep(100000); one_block(); });
        for (auto& thread : threads) thread.join();
    }},
    {"freed-by-another-thread", 100'000, [](int n) {
        std::vector<void*> blocks(n);
        std::thread([&] { for (auto& block : blocks) touch(block = std::malloc(64)); }).join();
        std::thread([&] { for (void* block : blocks) std::free(block); }).join();
    }},
    {"forks", 50, [](int n) {
        std::vector<void*> blocks(20000);
        for (auto& block : blocks) touch(block = std::malloc(3000));
        for (int i = 0; i < n; ++i) {
            pid_t child = fork();
            if (child == 0) { for (int k = 0; k < 100; ++k) touch(blocks[k * 150]); std::free(blocks[3]); _exit(0); }
            waitpid(child, nullptr, 0);
        }
    }},
    {"programs", 10, [](int n) { if (n > 0) execl("/proc/self/exe", "many", "programs", std::to_string(n - 1).c_str(), nullptr); }},
    {"libraries", 1'000, [](int n) { for (int i = 0; i < n; ++i) if (void* library = dlopen("libthread_db.so.1", RTLD_NOW)) dlclose(library); }},
    {"marks", 2'000, [](int n) { for (int i = 0; i < n; ++i) { memtoll_mark(std::to_string(i).c_str()); one_block(); } }},
    {"regions", 5'000, [](int n) { for (int i = 0; i < n; ++i) { memtoll_region_begin("r"); one_block(); memtoll_region_end("r"); } }},
    {"names-of-regions", 2'000, [](int n) {
        for (int i = 0; i < n; ++i) {
            std::string name = std::to_string(i);
            memtoll_region_begin(name.c_str()); one_block(); memtoll_region_end(name.c_str());
        }
    }},
};

}

int main(int count, char** words) {
    if (count == 1) {
        for (const Way& way : kWays) std::printf("%s %d\n", way.name, way.times);
        return 0;
    }
    auto asked = [&](const Way& way) { return count == 3 && std::strcmp(way.name, words[1]) == 0; };
    auto way = std::find_if(std::begin(kWays), std::end(kWays), asked);
    if (way == std::end(kWays)) {
        std::fprintf(stderr, "expected a way and a number of times, as in: many call-stacks 1000\n");
        return 2;
    }
    way->run(std::atoi(words[2]));
}
