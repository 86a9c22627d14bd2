// A program of many threads for tools/attach-rounds.py: half of them wait for events, half sleep. All allocate now and then, and check
// what they have.
//
//   attach_crowd THREADS
//
// Ends at the end of its input. Then it says what was broken, and how many calls of epoll_wait were interrupted.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

std::atomic<bool> is_over{false};
std::atomic<unsigned long> broken{0}, interrupted{0}, rounds{0};

void allocate(unsigned seed) {
    std::vector<std::string> kept;
    for (unsigned i = 0; i < 20; ++i) kept.emplace_back(30 + (seed * 31 + i * 7) % 500, static_cast<char>('a' + i));
    for (unsigned i = 0; i < 20; ++i)
        if (kept[i].back() != static_cast<char>('a' + i) || kept[i].size() != 30 + (seed * 31 + i * 7) % 500) ++broken;
    ++rounds;
}

void wait_for_events(unsigned seed) {
    const int events = epoll_create1(EPOLL_CLOEXEC), source = eventfd(0, EFD_CLOEXEC);
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    if (epoll_ctl(events, EPOLL_CTL_ADD, source, &wanted) != 0) ++broken;
    while (!is_over) {
        epoll_event found{};
        const int count = epoll_wait(events, &found, 1, 200);
        if (count < 0 && errno == EINTR) ++interrupted;
        else if (count != 0) ++broken; // the source never becomes readable
        allocate(seed++);
    }
    close(source);
    close(events);
}

void sleep_often(unsigned seed) {
    while (!is_over) {
        const auto begin = std::chrono::steady_clock::now();
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        if (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(200)) ++broken;
        allocate(seed++);
    }
}

} // namespace

int main(int count, char** arguments) {
    const unsigned threads = count > 1 ? static_cast<unsigned>(atoi(arguments[1])) : 1000;
    std::vector<std::thread> all;
    for (unsigned i = 0; i < threads; ++i) all.emplace_back(i % 2 ? wait_for_events : sleep_often, i);
    puts("ready");
    fflush(stdout);
    char line[16];
    while (fgets(line, sizeof line, stdin)) {}
    is_over = true;
    for (std::thread& thread : all) thread.join();
    printf("broken %lu interrupted %lu rounds %lu\n", broken.load(), interrupted.load(), rounds.load());
    return broken > 0;
}
