// Call frame information made by hand.
#pragma once

#include "unwind/cfi_scratch.hpp"

#include <cstring>
#include <memory>
#include <vector>

namespace memtoll::unwind {

using Bytes = std::vector<uint8_t>;

// Registers in instructions.
inline constexpr uint8_t kFp = arch::kFramePointer, kSp = arch::kStackPointer, kPc = arch::kReturnAddress;
// Instructions with a register in their low bits: it is saved at the CFA plus a factored offset.
constexpr uint8_t saved(uint8_t number) { return static_cast<uint8_t>(0x80 | number); }
// In expressions: a register plus an offset.
constexpr uint8_t breg(uint8_t number) { return static_cast<uint8_t>(0x70 + number); }

// A CFA 8 above the stack pointer, and the return address right below it.
inline const Bytes kInitial = {0x0c, kSp, 8, saved(kPc), 1};

inline constexpr uintptr_t kStart = 0x1000; // of the function that the FDE describes, with absolute addresses
inline constexpr uintptr_t kLength = 0x100;

// An .eh_frame of one CIE ("zR", absolute pointers, data alignment -8) and one FDE with these instructions.
class Handmade {
public:
    explicit Handmade(const Bytes& instructions, const Bytes& initial = kInitial, const char* augmentation = "zR",
                      uint8_t version = 1, uint8_t return_register = kPc) {
        const size_t cie = open();
        put32(0);
        put({version});
        for (const char* letter = augmentation; *letter; ++letter) put({static_cast<uint8_t>(*letter)});
        put({0});
        if (version == 4) put({8, 0});
        put({1, 0x78, return_register}); // code alignment 1, data alignment -8
        if (*augmentation) put({static_cast<uint8_t>(strchr(augmentation, 'R') ? 1 : 0)});
        if (strchr(augmentation, 'R')) put({0});
        put(initial);
        close(cie);
        const size_t fde = open();
        put32(static_cast<uint32_t>(bytes_.size() - cie));
        put64(kStart);
        put64(kLength);
        if (*augmentation) put({0});
        put(instructions);
        close(fde);
        put32(0);
    }

    bool row(uintptr_t offset) {
        CfiSections sections;
        const auto begin = reinterpret_cast<uintptr_t>(bytes_.data());
        sections.frame_range = {begin, begin + bytes_.size()};
        scratch->forget(); // another test's bytes may have stood here
        return find_row_linear(sections, begin, kStart + offset, *scratch);
    }

    std::unique_ptr<CfiScratch> scratch = std::make_unique<CfiScratch>();

private:
    void put(const Bytes& bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
    void put32(uint32_t value) { put_raw(&value, sizeof value); }
    void put64(uint64_t value) { put_raw(&value, sizeof value); }
    void put_raw(const void* data, size_t size) {
        const auto* at = static_cast<const uint8_t*>(data);
        bytes_.insert(bytes_.end(), at, at + size);
    }
    size_t open() {
        put32(0);
        return bytes_.size() - 4;
    }
    void close(size_t entry) {
        const auto length = static_cast<uint32_t>(bytes_.size() - entry - 4);
        memcpy(&bytes_[entry], &length, sizeof length);
    }
    Bytes bytes_;
};

} // namespace memtoll::unwind
