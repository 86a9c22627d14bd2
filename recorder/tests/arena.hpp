// An arena as the supervisor makes it, for tests without one.
#pragma once

#include "kernel.hpp"
#include "session.hpp"

#include <sys/mman.h>

namespace memtoll::test {

class Arena {
public:
    Arena(uint32_t max_slots, uint32_t max_chunks, uint32_t chunk_limit, uint32_t max_nodes = 64) {
        const size_t slots = (sizeof(wire::ArenaHeader) + 63) & ~size_t{63};
        const size_t chunks = kernel::whole_pages(slots + max_slots * sizeof(wire::ThreadSlot));
        const size_t nodes = chunks + max_chunks * sizeof(wire::Chunk);
        bytes_ = nodes + max_nodes * sizeof(wire::StackNode);
        void* const shared = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED) return;
        header = static_cast<wire::ArenaHeader*>(shared);
        header->arena_bytes = bytes_;
        header->slots_offset = slots;
        header->chunks_offset = chunks;
        header->nodes_offset = nodes;
        header->max_slots = max_slots;
        header->max_chunks = max_chunks;
        header->max_nodes = max_nodes;
        header->stack_depth = 64;
        header->chunk_limit = chunk_limit;
        header->free_chunks = wire::kNoChunk;
        header->burst_chunks = wire::kNoChunk;
        header->node_count = wire::kFirstNode;
        header->mapped_at = reinterpret_cast<uint64_t>(header);
        session.arena = header;
        session.tree.start(reinterpret_cast<wire::StackNode*>(session.at(nodes)), &header->node_count, max_nodes,
                           false);
        session.state = Session::kRecording;
    }

    ~Arena() {
        kernel::silent = 0;
        session.state = Session::kFresh;
        session.arena = nullptr;
        session.tree.clear();
        if (header) kernel::unmap(header, bytes_);
    }

    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    wire::ArenaHeader* header = nullptr;

private:
    size_t bytes_;
};

} // namespace memtoll::test
