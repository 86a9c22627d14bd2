// Ways in which live bytes grow, with a pause after each step. Argument: which.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef STEPS
#define STEPS 2000
#define PAUSE 1000000 /* ns */
#endif
enum { kSteps = STEPS, kRequests = 1200 };

static void* kept[kSteps];

static void pause_between_steps(void) {
    const struct timespec time = {0, PAUSE};
    nanosleep(&time, NULL);
}

__attribute__((noinline)) static char* open_session(void) { return memset(malloc(200), 1, 200); }
__attribute__((noinline)) static char* request(void) { return memset(malloc(100), 1, 100); }
__attribute__((noinline)) static char* fill_cache(void) { return memset(malloc(4000), 1, 4000); }
__attribute__((noinline)) static char* longer_list(char* list, size_t bytes) { return memset(realloc(list, bytes), 1, bytes); }
__attribute__((noinline)) static char* burst(void) { return memset(malloc(1000), 1, 1000); }
__attribute__((noinline)) static char* start_up(void) { return memset(malloc(1000), 1, 1000); }

int main(int argc, char** argv) {
    const char* how = argv[argc - 1];
    char* list = NULL;
    for (int i = 0; i < 300 && !strcmp(how, "start"); i++) kept[i] = start_up();
    for (int i = 0; i < kSteps; i++) {
        if (!strcmp(how, "leak") || !strcmp(how, "busy_leak")) {
            // One of four sessions is forgotten.
            char* session = open_session();
            if (i % 4) free(session);
        }
        // One block, which is resized again and again.
        if (!strcmp(how, "list")) list = longer_list(list, 1000 + 200 * i);
        // Millions of events.
        for (int k = 0; k < kRequests && !strcmp(how, "busy_leak"); k++) free(request());
        // Full after a third of the time; entries are replaced.
        if (!strcmp(how, "cache")) {
            const int place = i % (kSteps / 3);
            free(kept[place]);
            kept[place] = fill_cache();
        }
        if (!strcmp(how, "bursts")) {
            if (i % 400 == 0) for (int k = 0; k < 300; k++) kept[k] = burst();
            if (i % 400 == 200) for (int k = 0; k < 300; k++) free(kept[k]);
        }
        pause_between_steps();
    }
    return 0;
}
