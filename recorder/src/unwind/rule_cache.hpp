// The rules of code addresses, read from .eh_frame once and kept, with the module that each address belongs to.
#pragma once

#include "../modules.hpp"
#include "cfi.hpp"
#include "code_ranges.hpp"
#include "code_reading.hpp"
#include "prediction.hpp"

namespace memtoll::unwind {

// A piece of memory that is handed out part by part.
class Pieces {
public:
    explicit Pieces(void* memory) : at_(static_cast<char*>(memory)) {}
    template <class T> T* take(size_t count) {
        auto* piece = reinterpret_cast<T*>(at_);
        at_ += bytes<T>(count);
        return piece;
    }
    template <class T> static constexpr size_t bytes(size_t count) { return (count * sizeof(T) + 63) & ~size_t{63}; }

private:
    char* at_;
};

class RuleCache {
public:
    struct Entry {
        uintptr_t address; // 0: empty
        Rule rule;
        uint16_t module;
    };

    // `owner` is handed to `announce` with each module that is met for the first time.
    void start(Pieces& memory, AnnounceModule announce, void* owner, Take take);
    static size_t memory_bytes();

    void forget();

    // For the call at `address`, or the instruction that was interrupted there.
    [[gnu::always_inline]] const Entry& operator[](uintptr_t address) {
        const Entry& known = place(address);
        if (known.address == address) [[likely]]
            return known;
        return read(address);
    }

    // The whole row of such an address, in `row`, and its module's number. Not kept. Null: there is none.
    const Row* row(uintptr_t address, uint16_t& module);

    // Whether `address`, which has no row, cannot be code's.
    bool is_data(uintptr_t address) { return code_.is_data(address); }

    // Whether code of that module without tables may have been called by the code before `address`. An interpreter's
    // generated code lays return addresses on the stack that no call has left there.
    bool may_return_to(uintptr_t address, uint16_t module) {
        return follows_call(address) || (module == kNoModule && !is_data(address));
    }

    uint32_t misses = 0;

private:
    Entry& place(uintptr_t address) { return entries_[(address * 0x9e3779b97f4a7c15u >> 40) & mask_]; }
    [[gnu::noinline]] const Entry& read(uintptr_t address);
    bool find_row_of_call(const CfiSections& sections, uintptr_t address);

    Entry* entries_ = nullptr;
    uint32_t mask_ = 0;
    uint32_t misses_at_growth_ = 0;
    CfiScratch* scratch_ = nullptr;
    CodeRanges code_;
    CodeReader* reader_ = nullptr;
    AnnounceModule announce_ = nullptr;
    void* owner_ = nullptr;
    Take take_ = nullptr;
};

} // namespace memtoll::unwind
