/* Handlers that allocate, on the alternate stack, on the thread's own, and one inside the other. */
#include "e2e.h"
#include <signal.h>

SITE static void on_alternate(void) { free(checked(malloc(10))); STAY(); }
SITE static void on_own(void) { free(checked(malloc(20))); STAY(); }
SITE static void between(void) { free(checked(malloc(30))); STAY(); }

static void own_handler(int signal) {
    on_own();
    if (signal == 0) say("never\n");
}
static void alternate_handler(int signal) {
    on_alternate();
    if (signal == SIGUSR1) raise(SIGUSR2);
    on_alternate();
}

SITE static void nested(int levels) {
    volatile int left = levels;
    if (left > 0) nested(left - 1);
    else raise(SIGUSR1);
    between();
}

int main(void) {
    static char stack[65536];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    if (sigaltstack(&alternate, NULL)) return 1;
    struct sigaction action = {.sa_handler = alternate_handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    action = (struct sigaction){.sa_handler = own_handler};
    sigaction(SIGUSR2, &action, NULL);
    for (int i = 0; i < 100; ++i) {
        nested(9);
        raise(SIGUSR2);
    }
    return 0;
}
