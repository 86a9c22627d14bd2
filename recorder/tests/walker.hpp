// What finds stacks in the recorder, for tests that walk their own.
#pragma once

#include "kernel.hpp"
#include "unwind/stack_cache.hpp"

#include <pthread.h>
#include <vector>

namespace memtoll::unwind::walks {

// What the recorder keeps for a thread, with a tree of its own.
struct Walker {
    explicit Walker(uint32_t depth_limit = 512) : memory(kernel::map_private(StackCache::memory_bytes(depth_limit))) {
        tree.start(nodes.data(), &count, static_cast<uint32_t>(nodes.size()), false);
        cache.memory = memory;
        cache.start(&tree, depth_limit, [](void*, uint16_t, const Module&) {}, nullptr, [](size_t) { return true; });
        cache.set_stack_end({stack_end(), sizeof(uintptr_t)});
        bytes = StackCache::memory_bytes(depth_limit);
    }
    ~Walker() {
        kernel::unmap(memory, bytes);
        tree.clear();
    }

    static uintptr_t stack_end() {
        pthread_attr_t attributes;
        pthread_getattr_np(pthread_self(), &attributes);
        void* low;
        size_t size;
        pthread_attr_getstack(&attributes, &low, &size);
        pthread_attr_destroy(&attributes);
        return reinterpret_cast<uintptr_t>(low) + size;
    }

    // Addresses of the calls, innermost first, and how the stack ends.
    std::vector<uintptr_t> path(uint32_t node, uint32_t& root) const {
        std::vector<uintptr_t> result;
        for (; node >= wire::kFirstNode; node = nodes[node].parent)
            result.push_back(nodes[node].key.load() & wire::kAddressMask);
        root = node;
        return result;
    }

    std::vector<wire::StackNode> nodes = std::vector<wire::StackNode>(1 << 20);
    std::atomic<uint32_t> count{wire::kFirstNode};
    StackTree tree;
    void* memory;
    size_t bytes;
    StackCache cache;
};

inline Walker* walker = nullptr; // of the thread under test

[[gnu::noinline]] inline void keep(void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

} // namespace memtoll::unwind::walks
