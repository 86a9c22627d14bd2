// The CFI interpreter on handmade sections with known answers, and on the real ones of the loaded files.
#include "handmade_cfi.hpp"
#include "loaded_files.hpp"
#include "settings.hpp"

#include <gtest/gtest.h>

// libgcc's own search, as a second opinion on which entry covers an address.
extern "C" {
struct dwarf_eh_bases {
    void *tbase, *dbase, *func;
};
const void* _Unwind_Find_FDE(void* pc, dwarf_eh_bases* bases);
}

namespace memtoll::unwind {
namespace {

TEST(Cfi, PrologueOfAnOrdinaryFunction) {
    // The frame pointer is saved at +1 and set up at +4; the frame is left at +0x80.
    Handmade h({0x41, 0x0e, 16, saved(kFp), 2, 0x43, 0x0d, kFp, 0x02, 0x7c, 0x0c, kSp, 8});
    const Row& row = h.scratch->row;
    ASSERT_TRUE(h.row(0));
    EXPECT_EQ(row.cfa_register, kSp);
    EXPECT_EQ(row.cfa_offset, 8);
    EXPECT_EQ(row.registers[kPc].kind, RegisterRule::kAtCfa);
    EXPECT_EQ(row.registers[kPc].value, -8);
    EXPECT_EQ(row.registers[kFp].kind, RegisterRule::kSame);
    ASSERT_TRUE(h.row(1));
    EXPECT_EQ(row.cfa_offset, 16);
    EXPECT_EQ(row.registers[kFp].kind, RegisterRule::kAtCfa);
    EXPECT_EQ(row.registers[kFp].value, -16);
    EXPECT_EQ(row.cfa_register, kSp);
    ASSERT_TRUE(h.row(4));
    EXPECT_EQ(row.cfa_register, kFp);
    ASSERT_TRUE(h.row(0x7f));
    EXPECT_EQ(row.cfa_register, kFp);
    ASSERT_TRUE(h.row(0x80));
    EXPECT_EQ(row.cfa_register, kSp);
    EXPECT_EQ(row.cfa_offset, 8);
    EXPECT_FALSE(h.row(kLength));
    EXPECT_FALSE(h.row(static_cast<uintptr_t>(-1)));
}

TEST(Cfi, AdvancesOfEveryWidth) {
    // +2 (1 byte), +0x10 (2 bytes), +0x20 (4 bytes), each followed by def_cfa_offset.
    Handmade h({0x02, 2, 0x0e, 16, 0x03, 0x10, 0, 0x0e, 24, 0x04, 0x20, 0, 0, 0, 0x0e, 32});
    const std::pair<uintptr_t, int64_t> expected[] = {{0, 8},     {1, 8},     {2, 16},    {0x11, 16},
                                                      {0x12, 24}, {0x31, 24}, {0x32, 32}, {0xff, 32}};
    for (const auto& [offset, cfa] : expected) {
        ASSERT_TRUE(h.row(offset));
        EXPECT_EQ(h.scratch->row.cfa_offset, cfa) << "at +" << offset;
    }
}

TEST(Cfi, RememberAndRestore) {
    Handmade h({0x0e, 32, 0x83, 3, 0x0a, 0x44, 0xc3, 0x0e, 8, 0x44, 0x0b});
    ASSERT_TRUE(h.row(0));
    EXPECT_EQ(h.scratch->row.registers[3].kind, RegisterRule::kAtCfa);
    ASSERT_TRUE(h.row(4));
    EXPECT_EQ(h.scratch->row.cfa_offset, 8);
    EXPECT_EQ(h.scratch->row.registers[3].kind, RegisterRule::kSame);
    ASSERT_TRUE(h.row(8));
    EXPECT_EQ(h.scratch->row.cfa_offset, 32);
    EXPECT_EQ(h.scratch->row.registers[3].value, -24);
}

TEST(Cfi, EveryRegisterRule) {
    Handmade h({0x05, 3, 2,                   // register 3 at CFA - 16
                0x11, 12, 0x7f,               // 12 at CFA + 8 (signed offset -1)
                0x14, 13, 3,                  // 13 = CFA - 24
                0x15, 14, 0x7e,               // 14 = CFA + 16
                0x09, 15, 1,                  // 15 in 1
                0x07, 0,                      // 0 undefined
                0x10, kFp, 2, breg(kSp), 8,   // frame pointer at stack pointer + 8
                0x16, 2, 2, breg(kSp), 24,    // 2 = stack pointer + 24
                0x2f, 5, 1,                   // 5 at CFA + 8
                0x2e, 0x20,                   // GNU_args_size
                0x08, 4,                      // 4 unchanged
                0x05, 40, 1});                // a vector register: accepted, forgotten
    ASSERT_TRUE(h.row(0));
    const Row& row = h.scratch->row;
    EXPECT_EQ(row.registers[3].value, -16);
    EXPECT_EQ(row.registers[12].value, 8);
    EXPECT_EQ(row.registers[13].kind, RegisterRule::kCfaPlus);
    EXPECT_EQ(row.registers[14].kind, RegisterRule::kCfaPlus);
    EXPECT_EQ(row.registers[0].kind, RegisterRule::kUndefined);
    EXPECT_EQ(row.registers[4].kind, RegisterRule::kSame);

    uintptr_t stack[8] = {100, 101, 102, 103, 104, 105, 106, 107};
    arch::Registers registers{};
    registers.value[kSp] = reinterpret_cast<uintptr_t>(&stack[3]); // CFA = &stack[4]
    registers.value[1] = 4711;
    registers.value[4] = 42;
    const ReadWord read = [](void*, uintptr_t address, uintptr_t& value) {
        value = *reinterpret_cast<const uintptr_t*>(address);
        return true;
    };
    ASSERT_TRUE(apply(row, registers, read, nullptr));
    const auto cfa = reinterpret_cast<uintptr_t>(&stack[4]);
    EXPECT_EQ(registers.value[kSp], cfa);
    EXPECT_EQ(registers.value[kPc], 103u);
    EXPECT_EQ(registers.value[3], 102u);
    EXPECT_EQ(registers.value[12], 105u);
    EXPECT_EQ(registers.value[13], cfa - 24);
    EXPECT_EQ(registers.value[14], cfa + 16);
    EXPECT_EQ(registers.value[15], 4711u);
    EXPECT_EQ(registers.value[kFp], 104u);
    EXPECT_EQ(registers.value[2], cfa - 8 + 24);
    EXPECT_EQ(registers.value[5], 105u);
    EXPECT_EQ(registers.value[4], 42u);
}

TEST(Cfi, RulesForTheQuickWalk) {
    struct Case {
        const char* what;
        Bytes instructions;
        Rule::Cfa cfa;
        int32_t cfa_offset;
        Rule::Saved frame_pointer;
        int32_t frame_pointer_offset;
    };
    const Case cases[] = {
        {"stack pointer + 24", {0x0e, 24}, Rule::kStack, 24, Rule::kUnchanged, 0},
        {"frame pointer + 16, saved", {0x0c, kFp, 16, saved(kFp), 2}, Rule::kFrame, 16, Rule::kSavedAtCfa, -16},
        {"CFA at frame pointer - 8 (realigned)", {0x0f, 3, breg(kFp), 0x78, 0x06, 0x10, kFp, 2, breg(kFp), 0},
         Rule::kAtFrame, -8, Rule::kSavedAtFrame, 0},
        {"CFA at stack pointer + 160 (signal)", {0x0f, 4, breg(kSp), 0xa0, 1, 0x06}, Rule::kAtStack, 160, Rule::kUnchanged, 0},
        {"CFA in another register", {0x0c, 10, 0}, Rule::kEveryRegister, 0, Rule::kUnchanged, 0},
        {"frame pointer in another register", {0x09, kFp, 11}, Rule::kEveryRegister, 0, Rule::kUnchanged, 0},
    };
    for (const Case& c : cases) {
        Handmade h(c.instructions);
        ASSERT_TRUE(h.row(0)) << c.what;
        const Rule rule = compress(h.scratch->row, kStart);
        EXPECT_EQ(rule.cfa, c.cfa) << c.what;
        EXPECT_EQ(rule.cfa_offset, c.cfa_offset) << c.what;
        EXPECT_EQ(rule.frame_pointer, c.frame_pointer) << c.what;
        EXPECT_EQ(rule.frame_pointer_offset, c.frame_pointer_offset) << c.what;
    }
    Handmade first({0x07, kPc});
    ASSERT_TRUE(first.row(0));
    EXPECT_EQ(compress(first.scratch->row, kStart).return_address, Rule::kNoCaller);
}

// As functions that call nothing, on processors whose calls leave the return address in a register.
TEST(Cfi, ARegisterHoldsTheReturnAddress) {
    constexpr uint8_t kLink = 3;
    Handmade h({0x41, 0x0e, 16, saved(kLink), 2}, {0x0c, kSp, 0}, "zR", 1, kLink);
    ASSERT_TRUE(h.row(0));
    EXPECT_EQ(compress(h.scratch->row, kStart).cfa, Rule::kEveryRegister);
    uintptr_t stack[2] = {4711, 4712};
    arch::Registers registers{};
    registers.value[kSp] = reinterpret_cast<uintptr_t>(stack);
    registers.value[kLink] = 42;
    const ReadWord read = [](void*, uintptr_t address, uintptr_t& value) {
        value = *reinterpret_cast<const uintptr_t*>(address);
        return true;
    };
    ASSERT_TRUE(apply(h.scratch->row, registers, read, nullptr));
    EXPECT_EQ(registers.value[kPc], 42u);
    EXPECT_EQ(registers.value[kSp], reinterpret_cast<uintptr_t>(stack));

    ASSERT_TRUE(h.row(1)); // saved
    EXPECT_EQ(compress(h.scratch->row, kStart).return_address, Rule::kSavedAtCfa);
    ASSERT_TRUE(apply(h.scratch->row, registers, read, nullptr));
    EXPECT_EQ(registers.value[kPc], 4711u);
    EXPECT_EQ(registers.value[kSp], reinterpret_cast<uintptr_t>(stack + 2));
}

// As for processors where the return from signal handlers has no call frame information.
TEST(Cfi, ASignalsFrameMadeByTheProcessorsFolder) {
    const uint8_t bytes[] = {0x0f, 3, breg(kSp), 16, 0x06, 0x10, kPc, 2, breg(kSp), 8};
    auto scratch = std::make_unique<CfiScratch>();
    ASSERT_TRUE(make_signal_row({bytes, sizeof bytes}, *scratch));
    EXPECT_TRUE(scratch->row.signal_frame);
    const Rule rule = compress(scratch->row, kStart);
    EXPECT_EQ(rule.cfa, Rule::kAtStack);
    EXPECT_EQ(rule.cfa_offset, 16);
    EXPECT_EQ(rule.return_address, Rule::kSavedAtStack);
    EXPECT_EQ(rule.return_offset, 8);
    EXPECT_TRUE(rule.signal_frame);
    EXPECT_FALSE(make_signal_row({bytes, 3}, *scratch)) << "cut off";
}

TEST(Cfi, VersionsAndAugmentations) {
    for (const uint8_t version : {1, 3, 4}) {
        Handmade h({0x0e, 24}, kInitial, "zR", version);
        EXPECT_TRUE(h.row(0)) << "version " << int(version);
    }
    Handmade signal({0x0e, 24}, kInitial, "zRS");
    ASSERT_TRUE(signal.row(0));
    EXPECT_TRUE(signal.scratch->row.signal_frame);
    EXPECT_FALSE(Handmade({0x0e, 24}, {}, "zR", 2).row(0));
    EXPECT_FALSE(Handmade({0x0e, 24}, {}, "R").row(0)) << "an augmentation without a length";
}

TEST(Cfi, NonsenseHasNoRow) {
    EXPECT_FALSE(Handmade({0x0b}).row(0)) << "restore without remember";
    EXPECT_FALSE(Handmade({0x3f}).row(0)) << "unknown instruction";
    EXPECT_FALSE(Handmade({0x0c, 99, 8}).row(0)) << "CFA from a register that does not exist";
    EXPECT_FALSE(Handmade({0x09, 3, 99}).row(0)) << "a register in one that does not exist";
    EXPECT_FALSE(Handmade({0x0f, 0x7f, breg(kSp)}).row(0)) << "expression longer than its entry";
    EXPECT_FALSE(Handmade({0x0e, 0x80}).row(0)) << "number without an end";
    EXPECT_FALSE(Handmade(Bytes(20, 0x0a)).row(0)) << "remembered too often";
    Bytes deep = {0x0f, 80};
    for (unsigned i = 0; i < 40; ++i) deep.insert(deep.end(), {breg(kSp), 8}); // forty times
    Handmade h(deep);
    ASSERT_TRUE(h.row(0));
    EXPECT_EQ(compress(h.scratch->row, kStart).cfa, Rule::kEveryRegister) << "an expression that is too deep";
}

// -- real --------------------------------------------------------------------------------------------------------------

bool same(const Row& a, const Row& b) {
    if (a.cfa_register != b.cfa_register || a.cfa_offset != b.cfa_offset || a.cfa_expression != b.cfa_expression ||
        a.signal_frame != b.signal_frame)
        return false;
    for (unsigned i = 0; i < arch::kRegisterCount; ++i)
        if (a.registers[i].kind != b.registers[i].kind || a.registers[i].value != b.registers[i].value ||
            a.registers[i].expression != b.registers[i].expression)
            return false;
    return true;
}

TEST(Cfi, FindsARowForEveryFunctionThatIsLoaded) {
    size_t files = 0, compressed = 0, rows = 0;
    auto scratch = std::make_unique<CfiScratch>();
    for (const test::LoadedFile& file : test::loaded_files()) {
        ++files;
        for (const auto& function : file.functions) {
            dwarf_eh_bases bases;
            const void* fde = _Unwind_Find_FDE(reinterpret_cast<void*>(function.start + 1), &bases);
            // The first byte's row is known from the psABI: a call has just left the return address in memory or in a
            // register. Not so for the PLT, for functions split in two, and for signal trampolines.
            ASSERT_TRUE(find_row(file.module.cfi, function.start, *scratch)) << file.name;
            if (fde) {
                EXPECT_EQ(reinterpret_cast<uintptr_t>(fde), function.fde) << file.name;
            }
            ++rows;
            const Rule rule = compress(scratch->row, function.start);
            const bool in_register = scratch->row.registers[kPc].kind == RegisterRule::kRegister;
            compressed += in_register || (rule.cfa != Rule::kEveryRegister && rule.cfa != Rule::kNoRule);
        }
    }
    EXPECT_GE(files, 4u); // this program, libstdc++, libgcc, libc, the loader, the vdso
    EXPECT_GT(rows, 8000u);
    EXPECT_GT(compressed, rows - rows / 100);
}

TEST(Cfi, TableAndLinearSearchAgree) {
    test::Random random(1);
    auto scratch = std::make_unique<CfiScratch>();
    for (const test::LoadedFile& file : test::loaded_files()) {
        for (unsigned i = 0; i < 300; ++i) {
            const size_t pick = random.below(file.functions.size());
            const uintptr_t address = file.functions[pick].start + random.below(200);
            const bool by_table = find_row(file.module.cfi, address, *scratch);
            const Row row = scratch->row;
            const bool by_search = find_row_linear(file.module.cfi, file.eh_frame, address, *scratch);
            ASSERT_EQ(by_table, by_search) << file.name;
            if (by_table) {
                ASSERT_TRUE(same(row, scratch->row)) << file.name;
            }
        }
    }
}

TEST(Cfi, NoRowOutsideOfCode) {
    auto scratch = std::make_unique<CfiScratch>();
    for (const test::LoadedFile& file : test::loaded_files()) {
        EXPECT_FALSE(find_row(file.module.cfi, 0, *scratch));
        EXPECT_FALSE(find_row(file.module.cfi, UINTPTR_MAX, *scratch));
        EXPECT_FALSE(find_row(file.module.cfi, file.module.start, *scratch)) << file.name << ": the ELF header";
    }
}

} // namespace
} // namespace memtoll::unwind
