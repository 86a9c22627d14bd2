// The CFI interpreter on handmade sections with known answers, and on the real ones of the loaded files.
#include "loaded_files.hpp"
#include "settings.hpp"
#include "unwind/cfi_scratch.hpp"

#include <gtest/gtest.h>
#include <memory>

// libgcc's own search, as a second opinion on which entry covers an address.
extern "C" {
struct dwarf_eh_bases {
    void *tbase, *dbase, *func;
};
const void* _Unwind_Find_FDE(void* pc, dwarf_eh_bases* bases);
}

namespace memtoll::unwind {
namespace {

using Bytes = std::vector<uint8_t>;

// -- handmade ----------------------------------------------------------------------------------------------------------

constexpr uintptr_t kStart = 0x1000; // of the function that the FDE describes, with absolute addresses
constexpr uintptr_t kLength = 0x100;

// An .eh_frame of one CIE ("zR", absolute pointers, data alignment -8) and one FDE with these instructions.
class Handmade {
public:
    explicit Handmade(const Bytes& instructions, const Bytes& initial = {0x0c, 7, 8, 0x90, 1},
                      const char* augmentation = "zR", uint8_t version = 1) {
        const size_t cie = open();
        put32(0);
        put({version});
        for (const char* letter = augmentation; *letter; ++letter) put({static_cast<uint8_t>(*letter)});
        put({0});
        if (version == 4) put({8, 0});
        put({1, 0x78, 16}); // code alignment 1, data alignment -8, return address in register 16
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

TEST(Cfi, PrologueOfAnOrdinaryFunction) {
    // push rbp at +1, mov rbp, rsp at +4, leave at +0x80 — with the frame pointer.
    Handmade h({0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x7c, 0x0c, 7, 8});
    const Row& row = h.scratch->row;
    ASSERT_TRUE(h.row(0));
    EXPECT_EQ(row.cfa_register, 7);
    EXPECT_EQ(row.cfa_offset, 8);
    EXPECT_EQ(row.registers[16].kind, RegisterRule::kAtCfa);
    EXPECT_EQ(row.registers[16].value, -8);
    EXPECT_EQ(row.registers[6].kind, RegisterRule::kSame);
    ASSERT_TRUE(h.row(1));
    EXPECT_EQ(row.cfa_offset, 16);
    EXPECT_EQ(row.registers[6].kind, RegisterRule::kAtCfa);
    EXPECT_EQ(row.registers[6].value, -16);
    EXPECT_EQ(row.cfa_register, 7);
    ASSERT_TRUE(h.row(4));
    EXPECT_EQ(row.cfa_register, 6);
    ASSERT_TRUE(h.row(0x7f));
    EXPECT_EQ(row.cfa_register, 6);
    ASSERT_TRUE(h.row(0x80));
    EXPECT_EQ(row.cfa_register, 7);
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
    Handmade h({0x05, 3, 2,          // rbx at CFA - 16
                0x11, 12, 0x7f,      // r12 at CFA + 8 (signed offset -1)
                0x14, 13, 3,         // r13 = CFA - 24
                0x15, 14, 0x7e,      // r14 = CFA + 16
                0x09, 15, 1,         // r15 in rdx
                0x07, 0,             // rax undefined
                0x10, 6, 2, 0x77, 8, // rbp at rsp + 8
                0x16, 2, 2, 0x77, 24, // rcx = rsp + 24
                0x2f, 5, 1,          // rdi at CFA + 8
                0x2e, 0x20,          // GNU_args_size
                0x08, 4,             // rsi unchanged
                0x05, 40, 1});       // a vector register: accepted, forgotten
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
    registers.value[7] = reinterpret_cast<uintptr_t>(&stack[3]); // CFA = &stack[4]
    registers.value[1] = 4711;
    registers.value[4] = 42;
    const ReadWord read = [](void*, uintptr_t address, uintptr_t& value) {
        value = *reinterpret_cast<const uintptr_t*>(address);
        return true;
    };
    ASSERT_TRUE(apply(row, registers, read, nullptr));
    const auto cfa = reinterpret_cast<uintptr_t>(&stack[4]);
    EXPECT_EQ(registers.value[7], cfa);
    EXPECT_EQ(registers.value[16], 103u);
    EXPECT_EQ(registers.value[3], 102u);
    EXPECT_EQ(registers.value[12], 105u);
    EXPECT_EQ(registers.value[13], cfa - 24);
    EXPECT_EQ(registers.value[14], cfa + 16);
    EXPECT_EQ(registers.value[15], 4711u);
    EXPECT_EQ(registers.value[6], 104u);
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
        {"rsp + 24", {0x0e, 24}, Rule::kStack, 24, Rule::kUnchanged, 0},
        {"rbp + 16, rbp saved", {0x0c, 6, 16, 0x86, 2}, Rule::kFrame, 16, Rule::kSavedAtCfa, -16},
        {"CFA at rbp - 8 (realigned)", {0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0}, Rule::kAtFrame, -8,
         Rule::kSavedAtFrame, 0},
        {"CFA at rsp + 160 (signal)", {0x0f, 4, 0x77, 0xa0, 1, 0x06}, Rule::kAtStack, 160, Rule::kUnchanged, 0},
        {"CFA in r10", {0x0c, 10, 0}, Rule::kEveryRegister, 0, Rule::kUnchanged, 0},
        {"rbp in r11", {0x09, 6, 11}, Rule::kEveryRegister, 0, Rule::kUnchanged, 0},
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
    Handmade first({0x07, 16});
    ASSERT_TRUE(first.row(0));
    EXPECT_EQ(compress(first.scratch->row, kStart).return_address, Rule::kNoCaller);
}

TEST(Cfi, ThePltExpressionDependsOnTheAddress) {
    // What linkers write for a lazy PLT: rsp + 8 + ((rip & 15) >= 11) * 8.
    Handmade h({0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22});
    for (uintptr_t offset = 0; offset < 64; ++offset) {
        ASSERT_TRUE(h.row(offset));
        const Rule rule = compress(h.scratch->row, kStart + offset);
        EXPECT_EQ(rule.cfa, Rule::kStack);
        EXPECT_EQ(rule.cfa_offset, (offset & 15) >= 11 ? 16 : 8) << "at +" << offset;
    }
}

TEST(Cfi, VersionsAndAugmentations) {
    for (const uint8_t version : {1, 3, 4}) {
        Handmade h({0x0e, 24}, {0x0c, 7, 8, 0x90, 1}, "zR", version);
        EXPECT_TRUE(h.row(0)) << "version " << int(version);
    }
    Handmade signal({0x0e, 24}, {0x0c, 7, 8, 0x90, 1}, "zRS");
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
    EXPECT_FALSE(Handmade({0x0f, 0x7f, 0x77}).row(0)) << "expression longer than its entry";
    EXPECT_FALSE(Handmade({0x0e, 0x80}).row(0)) << "number without an end";
    EXPECT_FALSE(Handmade(Bytes(20, 0x0a)).row(0)) << "remembered too often";
    Bytes deep = {0x0f, 80};
    for (unsigned i = 0; i < 40; ++i) deep.insert(deep.end(), {0x77, 8}); // rsp + 8, forty times
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
            // The first byte's row is known from the psABI: a call has just pushed the return address. Not so for the
            // PLT, for functions split in two, and for signal trampolines.
            ASSERT_TRUE(find_row(file.module.cfi, function.start, *scratch)) << file.name;
            if (fde) {
                EXPECT_EQ(reinterpret_cast<uintptr_t>(fde), function.fde) << file.name;
            }
            ++rows;
            const Rule rule = compress(scratch->row, function.start);
            compressed += rule.cfa != Rule::kEveryRegister && rule.cfa != Rule::kNoRule;
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
