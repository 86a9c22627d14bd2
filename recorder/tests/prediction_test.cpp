// The prediction table on made-up stacks: it may forget, but it must never name the wrong stack.
#include "settings.hpp"
#include "unwind/prediction.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <sys/mman.h>
#include <vector>

namespace memtoll::unwind {
namespace {

// A made-up machine: the frame of the code at `pc` has a size that depends on pc alone, unless the pc is one of those
// whose frame is measured by the frame pointer.
class Machine {
public:
    static constexpr size_t kWords = 1 << 15;

    Machine() : stack_(kWords), memory_(Prediction::kMemoryBytes / sizeof(uint64_t)) {
        prediction_.start(memory_.data(), [](size_t) { return true; });
    }

    static size_t frame_words(uintptr_t pc) { return 2 + pc * 7 % 13; }

    // Lays out the stack of `path` (innermost first), ending at a fixed place, over the rubble of earlier stacks.
    void call(const std::vector<uintptr_t>& path) {
        size_t top = kWords - 8;
        items_.clear();
        for (auto pc = path.rbegin(); pc != path.rend(); ++pc) {
            stack_[top] = *pc;
            items_.push_back({reinterpret_cast<uintptr_t>(&stack_[top]), *pc});
            top -= frame_words(pc + 1 == path.rend() ? 1 : pc[1]);
        }
        caller_ = {items_.back().address, items_.back().value, 0};
    }

    uintptr_t room() const { return reinterpret_cast<uintptr_t>(&*stack_.end()) - caller_.return_slot; }
    bool find(const arch::CallerFrame& caller, uint32_t& node) const {
        return prediction_.find(prediction_.guess(caller, room()), caller, room(), node);
    }
    bool find(uint32_t& node) const { return find(caller_, node); }
    void learn(uint32_t node, bool needs_frame_pointer = false) {
        prediction_.learn(caller_, room(), needs_frame_pointer, items_.data(), static_cast<unsigned>(items_.size()), node);
    }

    std::vector<uintptr_t> stack_;
    std::vector<uint64_t> memory_;
    std::vector<Item> items_; // outermost first, as StackCache keeps them
    arch::CallerFrame caller_{};
    Prediction prediction_;
};

void check_against_model(unsigned variety, size_t depth, unsigned calls, double least_hits) {
    Machine machine;
    test::Random random(variety * 1000 + depth);
    std::map<std::vector<uintptr_t>, uint32_t> model;
    unsigned hits = 0, repeats = 0;
    for (unsigned i = 0; i < calls; ++i) {
        std::vector<uintptr_t> path(depth);
        // Few paths in all, alike at the outer and the inner end.
        uint64_t choice = random.below(variety);
        for (size_t k = 0; k < depth; ++k) {
            path[k] = 1 + (k % 5 == 2 ? choice % 3 : k);
            if (k % 5 == 2) choice /= 3;
        }
        machine.call(path);
        const auto [known, is_new] = model.try_emplace(path, static_cast<uint32_t>(model.size() + 8));
        uint32_t node = 0;
        repeats += !is_new;
        if (machine.find(node)) {
            ASSERT_EQ(node, known->second) << "the wrong stack, at call " << i;
            ASSERT_FALSE(is_new);
            ++hits;
        } else {
            machine.learn(known->second);
            ASSERT_TRUE(machine.find(node)) << "learnt, but not known";
            ASSERT_EQ(node, known->second);
        }
    }
    EXPECT_GE(hits, static_cast<unsigned>(least_hits * repeats)) << "of " << repeats << " stacks met before";
}

TEST(Prediction, OneStack) { check_against_model(1, 20, 100, 1.0); }
TEST(Prediction, SomeStacks) { check_against_model(200, 25, 20'000, 0.95); }
TEST(Prediction, ShallowStacks) { check_against_model(9, 3, 10'000, 0.95); }
TEST(Prediction, DeepStacks) { check_against_model(200, 250, 20'000, 0.9); }
// More than its memory holds: it forgets, and learns again.
TEST(Prediction, TooManyStacks) { check_against_model(20'000, 60, 60'000, 0.0); }

TEST(Prediction, RandomStacksOverRubble) {
    Machine machine;
    test::Random random(5);
    std::map<std::vector<uintptr_t>, uint32_t> model;
    for (unsigned i = 0; i < test::rounds(200'000); ++i) {
        std::vector<uintptr_t> path(1 + random.below(random.one_in(50) ? 255 : 12));
        for (uintptr_t& pc : path) pc = 1 + random.below(3);
        machine.call(path);
        const auto known = model.try_emplace(path, static_cast<uint32_t>(model.size() + 8)).first;
        uint32_t node;
        if (machine.find(node)) ASSERT_EQ(node, known->second);
        else machine.learn(known->second);
    }
}

TEST(Prediction, AnyChangedWordIsNoticed) {
    Machine machine;
    std::vector<uintptr_t> path;
    for (uintptr_t pc = 1; pc <= 40; ++pc) path.push_back(pc);
    machine.call(path);
    machine.learn(77);
    uint32_t node;
    ASSERT_TRUE(machine.find(node));
    for (const Item& item : machine.items_) {
        auto* word = reinterpret_cast<uintptr_t*>(item.address);
        for (unsigned bit = 0; bit < 64; ++bit) {
            *word ^= uintptr_t{1} << bit;
            arch::CallerFrame caller = machine.caller_;
            caller.return_address = *reinterpret_cast<uintptr_t*>(caller.return_slot);
            EXPECT_FALSE(machine.find(caller, node)) << "bit " << bit;
            *word ^= uintptr_t{1} << bit;
        }
    }
    EXPECT_TRUE(machine.find(node));
}

// A stack's memory, with nothing behind its end.
class StackAtAnEdge {
public:
    static constexpr size_t kBytes = size_t{1} << 20;

    StackAtAnEdge()
        : low_(static_cast<char*>(mmap(nullptr, kBytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        mprotect(low_ + kBytes, kPage, PROT_NONE);
    }
    ~StackAtAnEdge() { munmap(low_, kBytes + kPage); }

    uintptr_t end() const { return reinterpret_cast<uintptr_t>(low_) + kBytes; }

private:
    static constexpr size_t kPage = 4096;
    char* const low_;
};

// The table knows a deep stack. A shallow one has the same hash, by its return address: the words of the deep stack, counted from the
// shallow one's place, would lie behind the end of the memory.
void check_that_a_stack_is_read_up_to_its_end(size_t deeper, bool is_decided_by_a_word) {
    StackAtAnEdge stack;
    std::vector<uint64_t> memory(Prediction::kMemoryBytes / sizeof(uint64_t));
    Prediction prediction;
    prediction.start(memory.data(), [](size_t) { return true; });
    const auto frame = [](uintptr_t slot, uintptr_t value) {
        *reinterpret_cast<uintptr_t*>(slot) = value;
        return Item{slot, value};
    };
    const auto find = [&](const arch::CallerFrame& caller, uint32_t& node) {
        const uintptr_t room = stack.end() - caller.return_slot;
        return prediction.find(prediction.guess(caller, room), caller, room, node);
    };
    const Item outer = frame(stack.end() - sizeof(uintptr_t), 1), inner = frame(stack.end() - deeper, 2);
    const Item items[] = {outer, inner};
    const arch::CallerFrame deep{inner.address, inner.value, 0};
    prediction.learn(deep, stack.end() - deep.return_slot, false, items, 2, 50);
    if (is_decided_by_a_word) {
        frame(outer.address, 3);
        const Item others[] = {{outer.address, 3}, inner};
        prediction.learn(deep, stack.end() - deep.return_slot, false, others, 2, 51);
    }
    uint32_t node = 0;
    ASSERT_TRUE(find(deep, node));
    constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15u;
    const uintptr_t slot = stack.end() - 2 * sizeof(uintptr_t);
    const arch::CallerFrame shallow{slot, (slot * kMultiplier) ^ (inner.address * kMultiplier) ^ inner.value, 0};
    EXPECT_FALSE(find(shallow, node));
    const Item own[] = {outer, frame(slot, shallow.return_address)};
    prediction.learn(shallow, stack.end() - shallow.return_slot, false, own, 2, 60);
    EXPECT_TRUE(!find(shallow, node) || node == 60);
}

TEST(Prediction, AStackIsReadUpToItsEnd) {
    check_that_a_stack_is_read_up_to_its_end(4096, false);
    check_that_a_stack_is_read_up_to_its_end(size_t{900} << 10, false);
    check_that_a_stack_is_read_up_to_its_end(4096, true);
}

TEST(Prediction, TheFramePointerCountsWhereItDecides) {
    Machine machine;
    machine.call({1, 2, 3});
    machine.caller_.frame_pointer = 0x1000;
    machine.learn(50, true);
    uint32_t node = 0;
    EXPECT_TRUE(machine.find(node));
    machine.caller_.frame_pointer = 0x2000;
    EXPECT_FALSE(machine.find(node));
    machine.learn(51, true);
    EXPECT_TRUE(machine.find(node));
    EXPECT_EQ(node, 51u);
    machine.caller_.frame_pointer = 0x1000;
    EXPECT_TRUE(machine.find(node));
    EXPECT_EQ(node, 50u);
}

TEST(Prediction, ForgetsAllWhenCleared) {
    Machine machine;
    machine.call({1, 2, 3});
    machine.learn(50);
    machine.prediction_.clear();
    uint32_t node;
    EXPECT_FALSE(machine.find(node));
}

TEST(Prediction, StacksThatDoNotFitAreLeftAlone) {
    Machine machine;
    uint32_t node;
    machine.call(std::vector<uintptr_t>(Prediction::kMaxItems, 1));
    machine.learn(50);
    EXPECT_TRUE(machine.find(node));
    machine.call(std::vector<uintptr_t>(Prediction::kMaxItems + 1, 2));
    machine.learn(51);
    EXPECT_FALSE(machine.find(node));
}

} // namespace
} // namespace memtoll::unwind
