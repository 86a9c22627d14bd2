// The stack tree against a std::map, alone and with several threads at once.
#include "kernel.hpp"
#include "settings.hpp"
#include "stack_tree.hpp"

#include <algorithm>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace memtoll {
namespace {

using Path = std::vector<uint64_t>; // from the outermost frame inwards

const StackTree::Place kRoot = StackTree::root(wire::kRootComplete);

struct Fixture {
    explicit Fixture(uint32_t capacity) : nodes(capacity), count(wire::kFirstNode), capacity(capacity) {
        tree.start(nodes.data(), &count, capacity, false);
    }
    ~Fixture() { tree.clear(); }

    StackTree::Place child(const StackTree::Place& parent, uint64_t key) {
        bool fresh = false;
        return tree.child(parent, key, fresh);
    }

    // As a walk does it.
    uint32_t insert(const Path& path) {
        StackTree::Place place = kRoot;
        for (const uint64_t key : path) tree.expect(place.hash = StackTree::hash_below(place.hash, key));
        place = kRoot;
        bool fresh = false;
        for (const uint64_t key : path) place = tree.child(place, key, fresh);
        return place.node;
    }

    // The path that a reader of the arena sees.
    Path path_of(uint32_t node) const {
        Path path;
        for (; node >= wire::kFirstNode; node = nodes[node].parent) {
            EXPECT_LT(node, count.load());
            path.push_back(nodes[node].key.load());
        }
        EXPECT_EQ(node, wire::kRootComplete);
        std::reverse(path.begin(), path.end());
        return path;
    }

    std::vector<wire::StackNode> nodes;
    std::atomic<uint32_t> count;
    uint32_t capacity;
    StackTree tree;
};

// Paths that share beginnings, as stacks do: the few keys near the root are met again and again.
Path random_path(test::Random& random, uint64_t variety) {
    Path path(1 + random.below(20));
    for (uint64_t& key : path) key = 1 + random.below(variety);
    return path;
}

TEST(StackTree, AgreesWithAMap) {
    for (const uint64_t variety : {2, 5, 1000}) {
        Fixture f(1 << 20);
        test::Random random(variety);
        std::map<std::pair<uint32_t, uint64_t>, uint32_t> model;
        for (int i = 0; i < 20'000 && model.size() + 20 < StackTree::kRemembered; ++i) {
            StackTree::Place parent = kRoot;
            bool fresh = false;
            for (const uint64_t key : random_path(random, variety)) {
                const StackTree::Place place = f.tree.child(parent, key, fresh);
                const auto [known, is_new] = model.try_emplace({parent.node, key}, place.node);
                ASSERT_EQ(known->second, place.node) << "a frame that was known got a second node";
                ASSERT_EQ(fresh, is_new);
                if (is_new) {
                    ASSERT_EQ(f.nodes[place.node].parent, parent.node);
                    ASSERT_EQ(f.nodes[place.node].key.load(), key);
                }
                parent = place;
            }
        }
        EXPECT_EQ(f.count.load(), wire::kFirstNode + model.size());
        std::set<uint32_t> distinct;
        for (const auto& entry : model) distinct.insert(entry.second);
        EXPECT_EQ(distinct.size(), model.size()) << "two frames share a node";
    }
}

TEST(StackTree, GrowsThroughManyTables) {
    constexpr uint32_t kFrames = StackTree::kRemembered; // the first index table has 4,096 places
    Fixture f(kFrames + wire::kFirstNode);
    test::Random random(1);
    std::vector<std::pair<StackTree::Place, uint64_t>> frames;
    std::vector<StackTree::Place> places;
    StackTree::Place parent = kRoot;
    for (uint32_t i = 0; i < kFrames; ++i) {
        const uint64_t key = uint64_t{i} + 1;
        places.push_back(f.child(parent, key));
        ASSERT_EQ(places[i].node, wire::kFirstNode + i);
        frames.emplace_back(parent, key);
        // Those that were entered into older, smaller tables are still found, also while they are on their way.
        const uint64_t earlier = random.below(i + 1);
        ASSERT_EQ(f.child(frames[earlier].first, frames[earlier].second).node, wire::kFirstNode + earlier);
        parent = random.one_in(10) ? kRoot : places[random.below(i + 1)];
    }
    for (uint32_t i = 0; i < kFrames; ++i)
        ASSERT_EQ(f.child(frames[i].first, frames[i].second).node, wire::kFirstNode + i);
    EXPECT_EQ(f.count.load(), f.capacity);
}

// However many stacks there are, the index stays small: it forgets, but not what is in use.
TEST(StackTree, KeepsWhatIsAskedFor) {
    constexpr uint32_t kFrames = 1'000'000, kInUse = 5000;
    Fixture f(2 * kFrames);
    test::Random random(1);
    std::vector<StackTree::Place> used;
    for (uint64_t key = 1; key <= kInUse; ++key) used.push_back(f.child(kRoot, key));
    for (uint32_t i = 0; i < kFrames; ++i) {
        // Each of them is asked for once in 20,000 new frames.
        if (i % 4 == 0) {
            const uint32_t one = i / 4 % kInUse;
            ASSERT_EQ(f.child(kRoot, one + 1).node, used[one].node) << "it was in use";
        }
        const StackTree::Place& parent = used[random.below(kInUse)];
        const StackTree::Place place = f.child(parent, kInUse + 1 + i);
        ASSERT_EQ(f.nodes[place.node].parent, parent.node);
        ASSERT_EQ(f.nodes[place.node].key.load(), kInUse + 1 + i);
    }
    EXPECT_LE(f.tree.resident_index(), 2u << 20);
    // One that was not asked for since the beginning has the same path, under another node.
    const uint32_t first = wire::kFirstNode + kInUse;
    const Path path = f.path_of(first);
    const uint32_t again = f.insert(path);
    EXPECT_NE(again, first);
    EXPECT_EQ(f.path_of(again), path);
}

// Where another process has the nodes, too, the pages of those that are written are given back.
TEST(StackTree, NodesTakeLittleMemory) {
    constexpr uint32_t kFrames = 100'000;
    const size_t bytes = (kFrames + wire::kFirstNode) * sizeof(wire::StackNode);
    const long memory = kernel::call(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_FALSE(kernel::failed(memory));
    auto* nodes = reinterpret_cast<wire::StackNode*>(memory);
    std::atomic<uint32_t> count = wire::kFirstNode;
    StackTree tree;
    tree.start(nodes, &count, kFrames + wire::kFirstNode, true);
    bool fresh = false;
    for (uint64_t key = 1; key <= kFrames; ++key) tree.child(kRoot, key, fresh = false);
    const auto mapped = [&] { // mincore also counts pages that no process has mapped
        std::vector<uint64_t> entries(bytes / 4096);
        const auto length = static_cast<ssize_t>(entries.size() * sizeof(uint64_t));
        const int pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
        EXPECT_EQ(pread(pages, entries.data(), static_cast<size_t>(length), memory / 4096 * 8), length);
        close(pages);
        return static_cast<size_t>(std::count_if(entries.begin(), entries.end(), [](uint64_t e) { return e >> 63; }));
    };
    EXPECT_LE(mapped() * 4096, tree.resident_nodes() * sizeof(wire::StackNode) + 4096);
    EXPECT_GT(mapped() * 4096, tree.resident_nodes() * sizeof(wire::StackNode) / 2);
    EXPECT_LT(tree.resident_nodes() * sizeof(wire::StackNode), 130u << 10);
    for (uint32_t i = 0; i < kFrames; ++i) ASSERT_EQ(nodes[wire::kFirstNode + i].key.load(), i + 1);
    tree.clear();
    kernel::unmap(nodes, bytes);
}

[[noreturn]] void fill_without_memory() {
    Fixture f(1 << 20);
    bool right = f.insert({1, 2}) == f.insert({1, 2});
    const rlimit limit{1 << 20, 1 << 20}; // no more memory from here on
    right &= setrlimit(RLIMIT_AS, &limit) == 0;
    for (uint64_t key = 1; key < 50'000; ++key) {
        const StackTree::Place parent = f.child(kRoot, 1 + key % 100);
        const StackTree::Place place = f.child(parent, key);
        right &= f.nodes[place.node].key == key && f.nodes[place.node].parent == parent.node;
        right &= f.nodes[parent.node].key == 1 + key % 100 && f.nodes[parent.node].parent == kRoot.node;
    }
    _exit(right ? 0 : 1);
}

TEST(StackTree, GrowsIntoWhatWasReserved) {
    constexpr uint32_t kFrames = 6000; // of the first three tables
    Fixture f(kFrames + wire::kFirstNode);
    f.tree.reserve();
    kernel::silent = 1;
    for (int round = 0; round < 2; ++round)
        for (uint32_t i = 0; i < kFrames; ++i) EXPECT_EQ(f.child(kRoot, i + 1).node, wire::kFirstNode + i);
    kernel::silent = 0;
}

// Frames may then be created more than once, but each node still leads back to the right path.
TEST(StackTree, ALimitedAddressSpaceOnlyMakesItForget) {
    EXPECT_EXIT(fill_without_memory(), testing::ExitedWithCode(0), "");
}

TEST(StackTree, SaysWhenItIsFull) {
    Fixture f(wire::kFirstNode + 3);
    const StackTree::Place a = f.child(kRoot, 1);
    const StackTree::Place b = f.child(a, 2);
    const StackTree::Place c = f.child(b, 3);
    EXPECT_EQ(c.node, wire::kFirstNode + 2);
    const StackTree::Place d = f.child(c, 4);
    EXPECT_EQ(d.node, uint32_t{wire::kRootTreeFull});
    EXPECT_EQ(f.child(d, 5).node, uint32_t{wire::kRootTreeFull});
    // What is there stays there, and the counter does not run away.
    EXPECT_EQ(f.child(b, 3).node, c.node);
    EXPECT_EQ(f.count.load(), f.capacity);
}

TEST(StackTree, ForgetsAllWhenCleared) {
    Fixture f(1000);
    f.insert({1, 2, 3});
    f.tree.clear();
    f.count = wire::kFirstNode;
    EXPECT_EQ(f.child(kRoot, 3).node, uint32_t{wire::kFirstNode});
}

// Several threads insert the same and different paths; each node that anyone was given leads back to the right path.
TEST(StackTree, ManyThreadsAtOnce) {
    constexpr unsigned kThreads = 8;
    constexpr unsigned kPaths = 4000;
    for (unsigned round = 0; round < 10; ++round) {
        Fixture f(1 << 20);
        std::vector<Path> shared(kPaths);
        test::Random random(round);
        for (Path& path : shared) path = random_path(random, 6);
        std::vector<std::vector<std::pair<Path, uint32_t>>> given(kThreads);
        std::atomic<unsigned> waiting{kThreads};
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < kThreads; ++t) {
            threads.emplace_back([&, t] {
                test::Random own(100 + round * kThreads + t);
                --waiting;
                while (waiting.load() > 0) std::this_thread::yield();
                for (unsigned i = 0; i < kPaths; ++i) {
                    Path path = shared[own.one_in(2) ? i : own.below(kPaths)];
                    if (own.one_in(4)) path.push_back(1000 + t); // nobody else's
                    given[t].emplace_back(path, f.insert(path));
                }
            });
        }
        for (std::thread& thread : threads) thread.join();

        std::set<Path> distinct;
        std::map<Path, std::set<uint32_t>> nodes;
        for (const auto& list : given) {
            for (const auto& [path, node] : list) {
                ASSERT_EQ(f.path_of(node), path);
                nodes[path].insert(node);
                for (size_t n = 1; n <= path.size(); ++n) distinct.emplace(path.begin(), path.begin() + long(n));
            }
        }
        // A path may get two nodes in a race, but that must stay rare.
        const size_t made = f.count.load() - wire::kFirstNode;
        EXPECT_GE(made, distinct.size());
        EXPECT_LT(made, distinct.size() + distinct.size() / 20 + 100);
        // Afterwards one of them is found each time. (The first time, the frames below one that has two nodes may be
        // known under the other.)
        for (const auto& entry : nodes) EXPECT_EQ(f.path_of(f.insert(entry.first)), entry.first);
        const uint32_t settled = f.count.load();
        for (const auto& entry : nodes) f.insert(entry.first);
        EXPECT_EQ(f.count.load(), settled) << "a known path was not found again";
    }
}

} // namespace
} // namespace memtoll
