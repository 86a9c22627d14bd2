#include "threads/thread_id.hpp"

#include "kernel.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace memtoll {
namespace {

// What is found while system calls are forbidden, and what the kernel says.
void expect_known() {
    const uint32_t truth = kernel::thread_id();
    kernel::silent.fetch_add(1);
    EXPECT_EQ(thread_id(), truth);
    kernel::silent.fetch_sub(1);
}

TEST(ThreadId, IsKnownWithoutASystemCall) {
    EXPECT_EQ(thread_id(), kernel::thread_id());
    expect_known();
    std::thread(expect_known).join();
    const pid_t child = fork();
    if (child == 0) {
        expect_known();
        _exit(testing::Test::HasFailure());
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

} // namespace
} // namespace memtoll
