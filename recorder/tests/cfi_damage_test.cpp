// Damaged call frame information must neither crash nor hang the target, nor make it read outside the given ranges.
//
// Copies of real sections lie right against a page that cannot be read, so that a read too far is a SIGSEGV. Damage is
// put where it matters: into the entry, the CIE and the table places that the following look-up uses.
#include "handmade_cfi.hpp"
#include "loaded_files.hpp"
#include "settings.hpp"
#include "unwind/cfi_scratch.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

namespace memtoll::unwind {
namespace {

constexpr size_t kPage = 4096;

// Bytes between two pages that cannot be read, touching the one before or the one behind.
class Guarded {
public:
    Guarded(const void* bytes, size_t size, bool at_end) : size_(size) {
        room_ = (size + kPage - 1) / kPage * kPage + 2 * kPage;
        pages_ = static_cast<char*>(mmap(nullptr, room_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        mprotect(pages_ + kPage, room_ - 2 * kPage, PROT_READ | PROT_WRITE);
        // Places keep their alignment: .eh_frame_hdr's table of integers is read as it lies.
        data_ = at_end ? pages_ + room_ - kPage - size : pages_ + kPage;
        memcpy(data_, bytes, size);
    }
    ~Guarded() { munmap(pages_, room_); }
    Guarded(const Guarded&) = delete;

    uintptr_t begin() const { return reinterpret_cast<uintptr_t>(data_); }
    Range range() const { return {begin(), begin() + size_}; }
    uint8_t& operator[](size_t i) { return reinterpret_cast<uint8_t*>(data_)[i]; }
    size_t size() const { return size_; }

private:
    size_t size_, room_;
    char *pages_, *data_;
};

// A file's .eh_frame_hdr and .eh_frame, moved. All addresses in them are relative, so the code seems to have moved too.
struct Moved {
    Moved(const test::LoadedFile& file, uintptr_t end, bool at_end)
        : bytes(reinterpret_cast<const void*>(file.module.cfi.eh_frame_hdr), end - file.module.cfi.eh_frame_hdr, at_end),
          distance(bytes.begin() - file.module.cfi.eh_frame_hdr) {
        sections.eh_frame_hdr = bytes.begin();
        sections.header_range = sections.frame_range = bytes.range();
    }
    Guarded bytes;
    uintptr_t distance;
    CfiSections sections;
};

// Whether the sections lie as linkers place them, one behind the other.
bool movable(const test::LoadedFile& file) {
    return !file.functions.empty() && file.eh_frame > file.module.cfi.eh_frame_hdr &&
           file.module.cfi.frame_range.holds(file.module.cfi.eh_frame_hdr,
                                             file.eh_frame_end - file.module.cfi.eh_frame_hdr);
}

// The stack that rules are applied to; reads elsewhere are refused, as StackCache refuses them.
struct FakeStack {
    uintptr_t words[64];
    static bool read(void* context, uintptr_t address, uintptr_t& value) {
        auto& stack = *static_cast<FakeStack*>(context);
        const auto begin = reinterpret_cast<uintptr_t>(stack.words);
        if (address < begin || address > begin + sizeof stack.words - sizeof value) return false;
        memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
        return true;
    }
};

// Everything that the recorder does with a row.
void use(const CfiScratch& scratch, uintptr_t address, test::Random& random) {
    (void)compress(scratch.row, address);
    FakeStack stack;
    arch::Registers registers;
    for (uintptr_t& value : registers.value)
        value = reinterpret_cast<uintptr_t>(stack.words) + random.below(sizeof stack.words);
    for (uintptr_t& word : stack.words) word = reinterpret_cast<uintptr_t>(stack.words) + random.below(sizeof stack.words);
    (void)apply(scratch.row, registers, FakeStack::read, &stack);
}

struct Patch {
    size_t at;
    uint8_t old;
};

void damage(Guarded& bytes, size_t at, std::vector<Patch>& patches, test::Random& random) {
    constexpr uint8_t kNasty[] = {0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x0b, 0x0f, 0x10, 0x16, 0x06, 0x15};
    if (at >= bytes.size()) return;
    patches.push_back({at, bytes[at]});
    switch (random.below(3)) {
    case 0: bytes[at] ^= static_cast<uint8_t>(1u << random.below(8)); break;
    case 1: bytes[at] = kNasty[random.below(sizeof kNasty)]; break;
    default: bytes[at] = static_cast<uint8_t>(random.word());
    }
}

struct Target {
    size_t index; // of the function
    uintptr_t address;
    bool has_expression;
};

// Functions whose rules are expressions are few (the PLT, signal trampolines, realigned stacks) and get a fair share.
std::vector<Target> targets_of(const test::LoadedFile& file, CfiScratch& scratch, bool with_expression) {
    std::vector<Target> targets;
    for (size_t i = 0; i < file.functions.size(); ++i) {
        const uintptr_t start = file.functions[i].start;
        const uintptr_t end = i + 1 < file.functions.size() ? file.functions[i + 1].start : start + 16;
        for (uintptr_t address = start; address < end; address += 1 + (end - start) / 8) {
            if (!find_row(file.module.cfi, address, scratch)) continue;
            bool expression = scratch.row.cfa_expression != 0;
            for (const RegisterRule& rule : scratch.row.registers) expression |= rule.expression != 0;
            if (expression == with_expression) targets.push_back({i, address, expression});
        }
    }
    return targets;
}

TEST(DamagedCfi, NeitherCrashesNorHangsNorReadsOutside) {
    const uint64_t rounds = test::rounds(60'000);
    auto scratch = std::make_unique<CfiScratch>();
    std::vector<test::LoadedFile> files;
    for (test::LoadedFile& file : test::loaded_files())
        if (movable(file)) files.push_back(std::move(file));
    ASSERT_GE(files.size(), 3u);
    uint64_t found = 0, refused = 0;
    test::Random random(0);
    double longest = 0;
    alarm(static_cast<unsigned>(60 + rounds / 500));
    for (const test::LoadedFile& file : files) {
        const std::vector<Target> plain = targets_of(file, *scratch, false);
        const std::vector<Target> expressions = targets_of(file, *scratch, true);
        for (const bool at_end : {false, true}) {
            Moved moved(file, file.eh_frame_end, at_end);
            for (uint64_t round = 0; round < rounds / files.size() / 2; ++round) {
                const auto& targets = expressions.empty() || random.one_in(2) ? plain : expressions;
                if (targets.empty()) continue;
                const Target target = targets[random.below(targets.size())];
                const uintptr_t header = file.module.cfi.eh_frame_hdr;
                const size_t fde = file.functions[target.index].fde - header;
                uint32_t cie_distance;
                memcpy(&cie_distance, &moved.bytes[fde + 4], sizeof cie_distance);
                const size_t cie = fde + 4 - cie_distance;
                const size_t last_fde = file.functions.back().fde - header;

                std::vector<Patch> patches;
                const uint64_t count = 1 + random.below(random.one_in(4) ? 20 : 3);
                for (uint64_t i = 0; i < count; ++i) {
                    switch (random.below(8)) {
                    case 0: damage(moved.bytes, random.below(12), patches, random); break; // the header
                    case 1: damage(moved.bytes, 12 + 8 * target.index + random.below(8), patches, random); break;
                    case 2:
                    case 3: damage(moved.bytes, cie + random.below(32), patches, random); break;
                    case 4: damage(moved.bytes, last_fde + random.below(40), patches, random); break;
                    default: damage(moved.bytes, fde + random.below(80), patches, random);
                    }
                }
                const uintptr_t address = target.address + moved.distance;
                scratch->forget();
                const auto begin = std::chrono::steady_clock::now();
                const bool ok = find_row(moved.sections, address, *scratch);
                ++(ok ? found : refused);
                if (ok) use(*scratch, address, random);
                if (random.one_in(64)) {
                    const uintptr_t near = moved.bytes.begin() + fde;
                    if (find_row_linear(moved.sections, near, address, *scratch)) use(*scratch, address, random);
                    if (find_row_linear(moved.sections, random.word(), address, *scratch)) use(*scratch, address, random);
                }
                const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
                longest = std::max(longest, took.count());
                for (auto patch = patches.rbegin(); patch != patches.rend(); ++patch) moved.bytes[patch->at] = patch->old;
            }
        }
    }
    alarm(0);
    EXPECT_LT(longest, 1.0) << "seconds for one look-up";
    // Damage that is never noticed, or always, would mean that it was not where it matters.
    EXPECT_GT(found, rounds / 20);
    EXPECT_GT(refused, rounds / 20);
}

TEST(DamagedCfi, SectionsCutOffAnywhere) {
    auto scratch = std::make_unique<CfiScratch>();
    test::Random random(2);
    const std::vector<test::LoadedFile> files = test::loaded_files();
    for (uint64_t round = 0; round < test::rounds(60'000) / 10; ++round) {
        const test::LoadedFile& file = files[random.below(files.size())];
        if (!movable(file)) continue;
        const uintptr_t header = file.module.cfi.eh_frame_hdr;
        const size_t index = random.below(file.functions.size());
        // In the header, in the table, or in and around the entry that is wanted.
        const size_t entry = file.functions[index].fde - header;
        const size_t cut = random.one_in(4)   ? random.below(20)
                           : random.one_in(4) ? 12 + random.below(8 * file.functions.size())
                                              : entry + random.below(64);
        Moved moved(file, std::min(header + cut, file.eh_frame_end), true);
        const uintptr_t address = file.functions[index].start + moved.distance + random.below(64);
        scratch->forget();
        if (find_row(moved.sections, address, *scratch)) use(*scratch, address, random);
        const uintptr_t eh_frame = file.eh_frame + moved.distance;
        if (random.one_in(20) && find_row_linear(moved.sections, eh_frame, address, *scratch))
            use(*scratch, address, random);
    }
}

TEST(DamagedCfi, RandomInstructions) {
    auto scratch = std::make_unique<CfiScratch>();
    test::Random random(3);
    uint64_t found = 0;
    for (uint64_t round = 0; round < test::rounds(60'000); ++round) {
        // A good CIE and a good FDE head, then whatever comes.
        std::vector<uint8_t> bytes = {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, kPc, 1, 0, 0x0c, kSp, 8, saved(kPc), 1, 0, 0};
        const size_t body = 21 + random.below(40);
        const uint32_t head[] = {static_cast<uint32_t>(body), 28, 0x1000, 0, 0x1000, 0};
        bytes.insert(bytes.end(), reinterpret_cast<const uint8_t*>(head), reinterpret_cast<const uint8_t*>(head) + sizeof head);
        bytes.push_back(0);
        while (bytes.size() < 24 + 4 + body) {
            // Mostly valid opcodes, and expressions that stay within their entry.
            if (random.one_in(3)) {
                const uint8_t inner = static_cast<uint8_t>(random.below(12));
                if (random.one_in(2)) bytes.push_back(0x0f);
                else bytes.insert(bytes.end(), {static_cast<uint8_t>(random.one_in(2) ? 0x10 : 0x16),
                                                static_cast<uint8_t>(random.below(18))});
                bytes.push_back(inner);
                for (unsigned i = 0; i < inner; ++i) bytes.push_back(static_cast<uint8_t>(random.below(0x98)));
            } else {
                bytes.push_back(static_cast<uint8_t>(random.one_in(3) ? random.word() : random.below(0x17)));
            }
        }
        bytes.resize(24 + 4 + body);
        const Guarded guarded(bytes.data(), bytes.size(), true);
        CfiSections sections;
        sections.frame_range = guarded.range();
        const uintptr_t address = 0x1000 + random.below(0x1000);
        scratch->forget();
        if (!find_row_linear(sections, guarded.begin(), address, *scratch)) continue;
        ++found;
        use(*scratch, address, random);
    }
    EXPECT_GT(found, test::rounds(60'000) / 50);
}

} // namespace
} // namespace memtoll::unwind
