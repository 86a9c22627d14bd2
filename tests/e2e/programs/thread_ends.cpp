// What threads do on their way out: destructors of thread-specific data, of thread_local objects, cleanup handlers;
// pthread_exit, cancellation, detached threads, and main leaving before the others.
#include "e2e.h"
#include <pthread.h>
#include <semaphore.h>

static pthread_key_t key;
static sem_t stopped;

SITE static void specific_work() { free(checked(malloc(11))); STAY(); }
SITE static void local_work() { free(checked(malloc(12))); STAY(); }
SITE static void cleanup_work() { free(checked(malloc(13))); STAY(); }
SITE static void detached_work() { free(checked(malloc(14))); STAY(); }
SITE static void last_work() { free(checked(malloc(15))); STAY(); }

struct Local {
    int rounds = 1;
    ~Local() {
        for (int i = 0; i < rounds; ++i) local_work();
    }
};
static thread_local Local local;

// Sets itself again: the destructor runs as often as the system allows.
static void specific_destructor(void* value) {
    specific_work();
    if (value == &key) pthread_setspecific(key, &stopped);
}

static void cleanup(void*) { cleanup_work(); }

static void* ends(void* how) {
    local.rounds = 2;
    pthread_setspecific(key, &key);
    pthread_cleanup_push(cleanup, nullptr);
    if (how == &stopped) {
        sem_post(&stopped);
        for (;;) pause(); // until cancelled
    }
    if (how) pthread_exit(nullptr);
    pthread_cleanup_pop(1);
    return nullptr;
}

static void* detached(void*) {
    detached_work();
    sem_post(&stopped);
    return nullptr;
}

static void* outlives_main(void* main_thread) {
    pthread_join(*static_cast<pthread_t*>(main_thread), nullptr);
    last_work();
    say("the last one\n");
    return nullptr;
}

int main() {
    pthread_key_create(&key, specific_destructor);
    sem_init(&stopped, 0, 0);
    for (int i = 0; i < 5; ++i) {
        void* const ways[] = {nullptr, &key, &stopped};
        for (void* how : ways) {
            pthread_t thread;
            if (pthread_create(&thread, nullptr, ends, how)) return 1;
            if (how == &stopped) {
                sem_wait(&stopped);
                pthread_cancel(thread);
            }
            pthread_join(thread, nullptr);
        }
        pthread_t thread;
        if (pthread_create(&thread, nullptr, detached, nullptr)) return 1;
        pthread_detach(thread);
        sem_wait(&stopped);
    }
    static pthread_t self = pthread_self();
    pthread_t thread;
    if (pthread_create(&thread, nullptr, outlives_main, &self)) return 1;
    pthread_exit(nullptr);
}
