// Programs of which it is hard to say where their time goes: time_costs NAME [COUNT]. The work is the same in every run.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

namespace {

volatile std::uint64_t sink;

// Bytes of a block that the C library always gets from the system and gives back.
constexpr std::size_t kFromSystem = 33 << 20;

// Keeps a block from being optimised away.
void* used(void* block) {
    asm volatile("" : : "r"(block) : "memory");
    return block;
}

// Pairs of calls and nothing else.
void loop(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        std::free(used(std::malloc(16 + i % 256)));
    }
}

// Calls back to back: many allocations, then many releases, always in the cache.
void back_to_back(std::uint64_t count) {
    void* blocks[256];
    for (std::uint64_t round = 0; round < count / 256; ++round) {
        for (std::size_t i = 0; i < 256; ++i) {
            blocks[i] = used(std::malloc(24 + i % 8 * 16));
        }
        for (void* block : blocks) {
            std::free(block);
        }
    }
}

// The words of a text, counted.
void words(std::uint64_t count) {
    std::mt19937 random(1);
    std::string text;
    for (std::uint64_t i = 0; i < count; ++i) {
        std::uint32_t word = random() % 50'000;
        text += "word";
        text += std::to_string(word * word % 1'000'003);
        text += word % 3 == 0 ? "-and-a-longer-ending " : " ";
    }
    std::vector<std::string> all;
    std::unordered_map<std::string, std::uint32_t> counts;
    for (std::size_t at = 0, end; (end = text.find(' ', at)) != std::string::npos; at = end + 1) {
        all.emplace_back(text, at, end - at);
        ++counts[all.back()];
    }
    sink = counts.size();
}

// A tree of nodes that are shared, at random keys.
struct Node {
    std::uint64_t key;
    std::shared_ptr<Node> left, right;
};

void tree(std::uint64_t count) {
    std::mt19937_64 random(2);
    std::shared_ptr<Node> root;
    for (std::uint64_t i = 0; i < count; ++i) {
        std::uint64_t key = random();
        std::shared_ptr<Node>* at = &root;
        while (*at) {
            at = key < (*at)->key ? &(*at)->left : &(*at)->right;
        }
        *at = std::make_shared<Node>(Node{key, nullptr, nullptr});
    }
    sink = root->key;
}

// Batches of blocks that are filled and dropped.
void batches(std::uint64_t count) {
    constexpr std::size_t kBlocks = 250'000, kBytes = 200;
    std::vector<char*> blocks(kBlocks);
    for (std::uint64_t round = 0; round < count; ++round) {
        for (char*& block : blocks) {
            block = static_cast<char*>(std::malloc(kBytes));
            std::memset(block, static_cast<int>(round), kBytes);
        }
        for (char* block : blocks) {
            std::free(block);
        }
    }
}

// Each call comes right after a wait for memory that has nothing to do with it.
void chase(std::uint64_t count) {
    constexpr std::size_t kSlots = 1 << 22;
    std::vector<std::uint32_t> next(kSlots);
    std::uint32_t at = 0;
    for (std::size_t i = 0; i < kSlots; ++i) {
        next[i] = static_cast<std::uint32_t>((i * 2'654'435'761u + 12'345) % kSlots);
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        at = next[at];
        at = next[at];
        std::free(used(std::malloc(16 + at % 64)));
    }
    sink = at;
}

// Much work of its own, and few calls.
void computes(std::uint64_t count) {
    std::uint64_t value = 1;
    for (std::uint64_t i = 0; i < count; ++i) {
        void* block = used(std::malloc(100));
        for (int step = 0; step < 2000; ++step) {
            value = value * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
            value ^= value >> 29;
        }
        std::free(block);
    }
    sink = value;
}

// Blocks that come fresh from the system each time.
void fresh(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        char* block = static_cast<char*>(std::malloc(kFromSystem));
        std::memset(block, 1, kFromSystem);
        used(block);
        std::free(block);
    }
}

// Fresh memory that the kernel cleared already, read first, then written.
void zeroed(std::uint64_t count) {
    constexpr std::size_t kPage = 4096;
    for (std::uint64_t i = 0; i < count; ++i) {
        char* block = static_cast<char*>(std::calloc(1, kFromSystem));
        std::uint64_t sum = 0;
        for (std::size_t at = 0; at < kFromSystem; at += kPage) {
            sum += static_cast<unsigned char>(block[at]);
        }
        sink = sum;
        for (std::size_t at = 0; at < kFromSystem; at += kPage) {
            block[at] = 1;
        }
        std::free(used(block));
    }
}

void in_threads(unsigned threads, void (*work)(std::uint64_t), std::uint64_t count) {
    std::vector<std::thread> all;
    for (unsigned i = 0; i < threads; ++i) {
        all.emplace_back(work, count / threads);
    }
    for (std::thread& thread : all) {
        thread.join();
    }
}

// Two threads, each with blocks of its own.
void threads(std::uint64_t count) { in_threads(2, words, count); }

// Sizes beyond the caches of threads, which take the arena's lock, for blocks of another thread's.
void contend(std::uint64_t count) {
    static void* blocks[512];
    for (std::uint64_t i = 0; i < count; ++i) {
        void* block = used(std::malloc(1100 + i % 3000));
        std::free(__atomic_exchange_n(&blocks[i % 512], block, __ATOMIC_ACQ_REL));
    }
}
void contended(std::uint64_t count) { in_threads(4, contend, count); }

// A tree of processes: each does a part.
void processes(std::uint64_t count) {
    for (int i = 0; i < 8; ++i) {
        pid_t child = fork();
        if (child == 0) {
            words(count / 8);
            _exit(0);
        }
        waitpid(child, nullptr, 0);
    }
}

struct Kind {
    std::string_view name;
    void (*run)(std::uint64_t);
    std::uint64_t count;
};

constexpr Kind kKinds[] = {
    {"loop", loop, 3'000'000},        {"back_to_back", back_to_back, 10'000'000}, {"words", words, 700'000},
    {"tree", tree, 100'000},          {"batches", batches, 60},                   {"chase", chase, 1'500'000},
    {"computes", computes, 100'000},  {"fresh", fresh, 12},                       {"zeroed", zeroed, 8},
    {"threads", threads, 1'400'000},  {"contended", contended, 2'000'000},        {"processes", processes, 1'400'000},
};

} // namespace

int main(int argc, char** argv) {
    for (const Kind& kind : kKinds) {
        if (argc > 1 && kind.name == argv[1]) {
            kind.run(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : kind.count);
            return 0;
        }
    }
    std::fputs("usage: time_costs NAME [COUNT], NAME one of:", stderr);
    for (const Kind& kind : kKinds) {
        std::fprintf(stderr, " %s", kind.name.data());
    }
    std::fputs("\n", stderr);
    return 2;
}
