// Both ways to ask for a mapping, of mappings that are made here.
#include "process_maps.hpp"

#include "kernel.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace memtoll::process_maps {
namespace {

constexpr size_t kPage = 4096;

// Three pages: one to write, one to execute, and one that is not there.
class Pages {
public:
    Pages() : at_(reinterpret_cast<uintptr_t>(mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        mprotect(reinterpret_cast<void*>(at_ + kPage), kPage, PROT_READ | PROT_EXEC);
        munmap(reinterpret_cast<void*>(at_ + 2 * kPage), kPage);
    }
    ~Pages() { munmap(reinterpret_cast<void*>(at_), 2 * kPage); }
    uintptr_t written() const { return at_; }
    uintptr_t executed() const { return at_ + kPage; }
    uintptr_t missing() const { return at_ + 2 * kPage; }

private:
    uintptr_t at_;
};

using Ask = Answer (*)(uintptr_t, Mapping&);

template <class Way> Answer on_new_file(Way way) {
    const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    const Answer answer = way(file);
    close(file);
    return answer;
}

Answer by_query(uintptr_t address, Mapping& found) {
    return on_new_file([&](int file) { return query(file, address, found); });
}

Answer by_list(uintptr_t address, Mapping& found) {
    uint64_t read = 0;
    return on_new_file([&](int file) { return read_list(file, address, found, read); });
}

void finds_mappings(Ask ask) {
    const Pages pages;
    Mapping found;
    ASSERT_EQ(ask(pages.executed() + 100, found), Answer::kFound);
    EXPECT_TRUE(found.executable);
    EXPECT_EQ(found.begin, pages.executed());
    EXPECT_EQ(found.end, pages.missing());
    ASSERT_EQ(ask(pages.executed() - 1, found), Answer::kFound);
    EXPECT_FALSE(found.executable);
    EXPECT_LE(found.begin, pages.written());
    EXPECT_EQ(found.end, pages.executed());
    int on_stack = 0;
    ASSERT_EQ(ask(reinterpret_cast<uintptr_t>(&on_stack), found), Answer::kFound);
    EXPECT_FALSE(found.executable);
    EXPECT_TRUE(found.holds(reinterpret_cast<uintptr_t>(&on_stack)));
    EXPECT_EQ(ask(0, found), Answer::kNothing);
    EXPECT_EQ(ask(UINTPTR_MAX - 1, found), Answer::kNothing);
    EXPECT_EQ(ask(pages.missing(), found), Answer::kNothing);
}

TEST(ProcessMaps, AnswersByTheList) { finds_mappings(by_list); }

TEST(ProcessMaps, Answers) { finds_mappings(find); }

// The kernel has this since 6.11.
TEST(ProcessMaps, AnswersByTheQueryWhereThereIsOne) {
    utsname system;
    ASSERT_EQ(uname(&system), 0);
    int major = 0, minor = 0;
    ASSERT_EQ(sscanf(system.release, "%d.%d", &major, &minor), 2);
    Mapping found;
    if (major > 6 || (major == 6 && minor >= 11)) finds_mappings(by_query);
    else EXPECT_EQ(by_query(0, found), Answer::kUnknown);
}

TEST(ProcessMaps, ReadsNoFurtherThanItMust) {
    const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    Mapping found;
    uint64_t first = 0, all = 0;
    EXPECT_EQ(read_list(file, 0, found, first), Answer::kNothing);
    lseek(file, 0, SEEK_SET);
    read_list(file, UINTPTR_MAX - 1, found, all);
    EXPECT_LE(first, 512u);
    EXPECT_GT(all, first);
    close(file);
}

TEST(ProcessMaps, IsUnknownWhereNoSystemCallsAreAllowed) {
    kernel::silent = 1;
    Mapping found;
    const Answer answer = find(reinterpret_cast<uintptr_t>(&found), found);
    kernel::silent = 0;
    EXPECT_EQ(answer, Answer::kUnknown);
}

} // namespace
} // namespace memtoll::process_maps
