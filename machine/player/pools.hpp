// What could be done instead of calling the allocator for each block: an arena that gives all its memory back once its last
// block is freed, and a store that keeps freed blocks for the next allocation. Each is used by one thread.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace memtoll::player {

class Arena {
  public:
    void* allocate(size_t size) {
        size = (size + 15) & ~size_t{15};
        if (size > left_ && !grow(size))
            return nullptr;
        void* block = at_;
        at_ += size;
        left_ -= size;
        ++live_;
        return block;
    }

    void release() {
        if (--live_ > 0 || chunk_ == nullptr)
            return;
        // The newest chunk is the largest: it serves the next time.
        for (Chunk* old = chunk_->before; old != nullptr;) {
            Chunk* before = old->before;
            std::free(old);
            old = before;
        }
        chunk_->before = nullptr;
        at_ = reinterpret_cast<char*>(chunk_ + 1);
        left_ = chunk_->size;
    }

  private:
    struct alignas(16) Chunk {
        Chunk* before;
        size_t size;
    };

    static constexpr size_t kFirst = 4096;
    static constexpr size_t kMost = 1 << 20;

    bool grow(size_t size) {
        size_t wanted = next_ > size ? next_ : size;
        auto* chunk = static_cast<Chunk*>(std::malloc(sizeof(Chunk) + wanted));
        if (chunk == nullptr)
            return false;
        *chunk = {chunk_, wanted};
        chunk_ = chunk;
        at_ = reinterpret_cast<char*>(chunk + 1);
        left_ = wanted;
        next_ = wanted * 2 < kMost ? wanted * 2 : kMost;
        return true;
    }

    Chunk* chunk_ = nullptr;
    char* at_ = nullptr;
    size_t left_ = 0;
    size_t next_ = kFirst;
    size_t live_ = 0;
};

class Store {
  public:
    void* allocate(size_t size) {
        Kept** link = &first_;
        for (size_t looked = 0; *link != nullptr && looked < kLook; ++looked, link = &(*link)->next) {
            if ((*link)->capacity < size)
                continue;
            Kept* found = *link;
            *link = found->next;
            --number_;
            return found + 1;
        }
        auto* fresh = static_cast<Kept*>(std::malloc(sizeof(Kept) + size));
        if (fresh == nullptr)
            return nullptr;
        fresh->capacity = size;
        return fresh + 1;
    }

    void release(void* block) {
        Kept* kept = static_cast<Kept*>(block) - 1;
        if (number_ == kMost) {
            std::free(kept);
            return;
        }
        kept->next = first_;
        first_ = kept;
        ++number_;
    }

  private:
    struct alignas(16) Kept {
        Kept* next;
        size_t capacity;
    };

    static constexpr size_t kLook = 8;
    static constexpr size_t kMost = 64;

    Kept* first_ = nullptr;
    size_t number_ = 0;
};

// One of both: what the script asks it for first.
struct Pool {
    Arena arena;
    Store store;
};

} // namespace memtoll::player
