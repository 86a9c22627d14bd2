// Rows that are read from code, beside the unwind tables of the same code.
#include "../../loaded_files.hpp"
#include "unwind/cfi_scratch.hpp"
#include "unwind/code_reading.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <initializer_list>
#include <memory>
#include <string>

namespace memtoll::unwind {
namespace {

struct Counts {
    unsigned calls = 0, read = 0, wrong = 0, wrong_frames = 0;
};

bool is_same(const Row& read, const Row& told) {
    // The tables may say the CFA by the frame pointer, where the code returns by the stack pointer, and the other way round.
    // But code whose tables say the stack pointer keeps something else in the frame pointer.
    if (read.cfa_register != told.cfa_register) return read.cfa_register == arch::kStackPointer;
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
            ++(row.cfa_register == arch::kFramePointer ? counts.wrong_frames : counts.wrong);
        }
    }
    return counts;
}

// Code in C is read for most calls, and never wrong. In C++, what follows a call that throws may be taken for a way to a return, or
// another function's piece with its frame pointer follows; a walk believes it only if it leads behind a call.
TEST(CodeReading, SaysWhatTheTablesSay) {
    bool has_c_library = false;
    for (const test::LoadedFile& file : test::loaded_files()) {
        const Counts counts = compare(file);
        const bool is_c = file.name.find("/libc.so") != std::string::npos || file.name.find("/libm.so") != std::string::npos;
        has_c_library |= is_c;
        EXPECT_LE(counts.wrong, is_c ? 0 : counts.read / 100) << file.name << ": of " << counts.read;
        EXPECT_LE(counts.wrong_frames, is_c ? 2 : counts.read / 40) << file.name << ": of " << counts.read;
        EXPECT_GE(counts.read, is_c ? counts.calls * 8 / 10 : 0) << file.name;
    }
    EXPECT_TRUE(has_c_library);
}

// Pieces of code behind a call, each with how Chromium's compilers write it.
class Ends : public testing::Test {
protected:
    // The row behind the call in front of `bytes`, which begin at a multiple of 16 and are followed by what stops the processor.
    Row row_of(std::initializer_list<uint8_t> bytes) {
        memset(code, 0xcc, sizeof code);
        const uint8_t call[] = {0xe8, 0, 0, 0, 0};
        memcpy(code + 16 - sizeof call, call, sizeof call);
        memcpy(code + 16, bytes.begin(), bytes.size());
        Row row;
        is_read = reader->read({reinterpret_cast<uintptr_t>(code) + 16, true, true}, row);
        return row;
    }
    static bool is_saved(const Row& row, unsigned reg, int64_t at_cfa) {
        return row.registers[reg].kind == RegisterRule::kAtCfa && row.registers[reg].value == at_cfa;
    }

    const std::unique_ptr<CodeReader> reader = std::make_unique<CodeReader>();
    alignas(16) uint8_t code[128];
    bool is_read = false;
};
constexpr unsigned kRbx = 3;

TEST_F(Ends, AFunctionThatIsJumpedToIsNotFollowed) {
    // add rsp, 8; pop rbx; pop rbp; jmp to what nobody can read
    const Row row = row_of({0x48, 0x83, 0xc4, 0x08, 0x5b, 0x5d, 0xe9, 0x40, 0, 0, 0});
    EXPECT_TRUE(is_read);
    EXPECT_EQ(row.cfa_register, arch::kStackPointer);
    EXPECT_EQ(row.cfa_offset, 32);
    EXPECT_TRUE(is_saved(row, arch::kFramePointer, -16) && is_saved(row, kRbx, -24));
}

TEST_F(Ends, SeveralEndsShareTheRest) {
    // add rsp, 24; jmp 1f; four int3; 1: pop rbx; pop r14; pop r15; pop rbp; ret
    const Row row = row_of({0x48, 0x83, 0xc4, 0x18, 0xeb, 4, 0xcc, 0xcc, 0xcc, 0xcc, 0x5b, 0x41, 0x5e, 0x41, 0x5f, 0x5d, 0xc3});
    EXPECT_TRUE(is_read);
    EXPECT_EQ(row.cfa_offset, 64);
    EXPECT_TRUE(is_saved(row, arch::kFramePointer, -16) && is_saved(row, kRbx, -40));
    // The rest begins at a multiple of 16.
    EXPECT_EQ(row_of({0x48, 0x83, 0xc4, 0x18, 0xeb, 10, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
                      0x5b, 0x41, 0x5e, 0x41, 0x5f, 0x5d, 0xc3}).cfa_offset, 64);
}

TEST_F(Ends, TheCallersFramePointerIsLoadedFromTheFrame) {
    // mov rbp, [rbp]; add rsp, 40; jmp rcx
    const Row row = row_of({0x48, 0x8b, 0x6d, 0x00, 0x48, 0x83, 0xc4, 0x28, 0xff, 0xe1});
    EXPECT_TRUE(is_read);
    EXPECT_EQ(row.cfa_register, arch::kFramePointer);
    EXPECT_EQ(row.cfa_offset, 16);
    EXPECT_TRUE(is_saved(row, arch::kFramePointer, -16));
}

TEST_F(Ends, AnAddressThatIsPushedIsWhereItGoes) {
    // pop rax; pop rdi; mov rsp, rbp; pop rbp; mov rcx, [rcx + 39]; push rcx; ret: V8's BaselineOutOfLinePrologue
    const Row row = row_of({0x58, 0x5f, 0x48, 0x8b, 0xe5, 0x5d, 0x48, 0x8b, 0x49, 0x27, 0x51, 0xc3});
    EXPECT_TRUE(is_read);
    EXPECT_EQ(row.cfa_register, arch::kFramePointer);
    EXPECT_EQ(row.cfa_offset, 16);
    EXPECT_TRUE(is_saved(row, arch::kFramePointer, -16));
}

TEST_F(Ends, AListThatIsFollowedIsNoFrame) {
    // 1: mov rbp, [rbp]; test rbp, rbp; jne 1b; add rsp, 8; pop rbx; pop rbp; ret
    const Row row = row_of({0x48, 0x8b, 0x6d, 0x00, 0x48, 0x85, 0xed, 0x75, 0xf7, 0x48, 0x83, 0xc4, 0x08, 0x5b, 0x5d, 0xc3});
    EXPECT_TRUE(is_read);
    EXPECT_EQ(row.cfa_register, arch::kStackPointer);
    EXPECT_EQ(row.cfa_offset, 32);
}

TEST_F(Ends, WhereAWayIsLostLocalVariablesTellOfAFramePointer) {
    // mov rax, [rbp - 56]; jmp rax
    const Row row = row_of({0x48, 0x8b, 0x45, 0xc8, 0xff, 0xe0});
    EXPECT_TRUE(is_read);
    EXPECT_EQ(row.cfa_register, arch::kFramePointer);
    EXPECT_EQ(row.cfa_offset, 16);
    // mov rax, [rbp + 56], of an object perhaps; jmp rax
    row_of({0x48, 0x8b, 0x45, 0x38, 0xff, 0xe0});
    EXPECT_FALSE(is_read);
}

TEST_F(Ends, AFunctionThatReturnsOnAnotherStackHasItsCallersFramePointer) {
    // mov rdi, [rsp + 8]; mov rsi, [rdi + 8]; sub rsi, [rsp]; mov rsp, rsi; pop rbp; ret: Go's runtime.asmcgocall
    const Row row = row_of({0x48, 0x8b, 0x7c, 0x24, 0x08, 0x48, 0x8b, 0x77, 0x08, 0x48, 0x2b, 0x34, 0x24, 0x48, 0x89, 0xf4, 0x5d, 0xc3});
    EXPECT_TRUE(is_read);
    EXPECT_TRUE(row.other_stack);
    EXPECT_EQ(row.cfa_register, arch::kFramePointer);
    // mov rsp, r8; mov rbp, r9; jmp rdx: longjmp
    row_of({0x4c, 0x89, 0xc4, 0x4c, 0x89, 0xcd, 0xff, 0xe2});
    EXPECT_FALSE(is_read);
}

} // namespace
} // namespace memtoll::unwind
