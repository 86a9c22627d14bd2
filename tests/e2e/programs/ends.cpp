// ends WAY: leaves in one of the ways there are, after exactly 100 allocations.
#include "e2e.h"
#include <csignal>
#include <cstdlib>
#include <exception>
#include <sys/syscall.h>

SITE static void work() {
    for (int i = 0; i < 100; ++i) checked(std::malloc(10));
    STAY();
}

static const char* way = "";
static bool is(const char* name) { return strcmp(way, name) == 0; }

struct Global {
    ~Global() {
        if (is("_exit in a destructor")) _exit(8);
    }
} global;

int main(int argc, char** argv) {
    if (argc != 2) return 1;
    way = argv[1];
    say("started\n");
    work();
    if (is("return")) return 3;
    if (is("exit")) std::exit(4);
    if (is("_exit")) _exit(5);
    if (is("quick_exit")) std::quick_exit(6);
    if (is("exit_group")) syscall(SYS_exit_group, 7);
    if (is("abort")) std::abort();
    if (is("terminate")) std::terminate();
    if (is("segv")) *reinterpret_cast<volatile int*>(reinterpret_cast<std::size_t>(argv) & 8) = 1;
    if (is("kill")) std::raise(SIGKILL);
    if (is("term")) std::raise(SIGTERM);
    if (is("pipe")) std::raise(SIGPIPE);
    if (is("trap")) __builtin_trap();
    return 0;
}
