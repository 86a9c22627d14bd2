// Threads that name themselves, or are named by another, in each of the ways there are.
#include "e2e.h"
#include <atomic>
#include <pthread.h>
#include <sys/prctl.h>
#include <thread>

SITE static void work(int blocks) {
    for (int i = 0; i < blocks; ++i) free(checked(malloc(10)));
    STAY();
}

int main() {
    std::thread([] {
        pthread_setname_np(pthread_self(), "loader");
        work(100);
    }).join();
    std::thread([] {
        prctl(PR_SET_NAME, "painter");
        work(200);
    }).join();
    static std::atomic<bool> named = false;
    std::thread other([] {
        named.wait(false); // one that has ended cannot be named
        work(300);
    });
    pthread_setname_np(other.native_handle(), "sounder");
    named = true;
    named.notify_one();
    other.join();
}
