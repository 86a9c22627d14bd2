// Rows that are read from code, beside the unwind tables of the same code.
#include "../../loaded_files.hpp"
#include "unwind/cfi_scratch.hpp"
#include "unwind/code_reading.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <string>

namespace memtoll::unwind {
namespace {

struct Counts {
    unsigned calls = 0, read = 0, wrong = 0;
};

bool is_same(const Row& read, const Row& told) {
    // The tables may say the CFA by the frame pointer, where the code returns by the stack pointer, and the other way round.
    if (read.cfa_register != told.cfa_register) return true;
    if (read.cfa_offset != told.cfa_offset) return false;
    const RegisterRule &a = read.registers[arch::kFramePointer], &b = told.registers[arch::kFramePointer];
    return a.kind == b.kind && (a.kind != RegisterRule::kAtCfa || a.value == b.value);
}

Counts compare(const test::LoadedFile& file) {
    const Module& module = file.module;
    const auto reader = std::make_unique<CodeReader>();
    const auto scratch = std::make_unique<CfiScratch>();
    Counts counts;
    for (size_t i = 0; i + 1 < file.functions.size(); ++i) {
        for (uintptr_t at = file.functions[i].start; at < file.functions[i + 1].start;) {
            const auto* bytes = reinterpret_cast<const uint8_t*>(at);
            const arch::Instruction instruction = arch::read_instruction(bytes, arch::kLongestInstruction);
            if (instruction.bytes == 0) break;
            at += instruction.bytes;
            const bool is_call = *bytes == 0xe8 || (*bytes == 0xff && (bytes[1] >> 3 & 7) == 2);
            if (!is_call || !find_row(module.cfi, at - 1, *scratch) || scratch->row.cfa_expression != 0) continue;
            ++counts.calls;
            EXPECT_TRUE(follows_call(at));
            Row row;
            if (!reader->read({.address = at, .after_call = true, .in_file = true}, row)) continue;
            ++counts.read;
            if (is_same(row, scratch->row)) continue;
            ++counts.wrong;
        }
    }
    return counts;
}

// Code in C is read for most calls, and never wrong. In C++, what follows a call that throws may be taken for a way to a return;
// a walk believes it only if it leads behind a call.
TEST(CodeReading, SaysWhatTheTablesSay) {
    bool has_c_library = false;
    for (const test::LoadedFile& file : test::loaded_files()) {
        const Counts counts = compare(file);
        const bool is_c = file.name.find("/libc.so") != std::string::npos || file.name.find("/libm.so") != std::string::npos;
        has_c_library |= is_c;
        EXPECT_LE(counts.wrong, is_c ? 0 : counts.read / 100) << file.name << ": of " << counts.read;
        EXPECT_GE(counts.read, is_c ? counts.calls * 8 / 10 : 0) << file.name;
    }
    EXPECT_TRUE(has_c_library);
}

} // namespace
} // namespace memtoll::unwind
