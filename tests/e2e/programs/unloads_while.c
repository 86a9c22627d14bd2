/* unloads_while A.so: one thread loads and unloads a library while three others allocate. */
#include "e2e.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int stop;

SITE static void busy_work(void) { free(checked(malloc(10))); STAY(); }

static void *busy(void *calls) {
    while (!atomic_load(&stop)) {
        busy_work();
        ++*(long *)calls;
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 2) return 1;
    pthread_t threads[3];
    long calls[3] = {0, 0, 0};
    for (int i = 0; i < 3; ++i)
        if (pthread_create(&threads[i], NULL, busy, &calls[i])) return 2;
    for (int i = 0; i < 50; ++i) {
        void *library = dlopen(argv[1], RTLD_NOW);
        if (!library) return 3;
        void (*entry)(void);
        *(void **)&entry = dlsym(library, "plugin_entry");
        entry();
        dlclose(library);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
    char line[64];
    snprintf(line, sizeof line, "calls %ld\n", calls[0] + calls[1] + calls[2]);
    return write(2, line, strlen(line)) < 0;
}
