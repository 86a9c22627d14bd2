/* siglongjmp out of a signal handler that allocates, on the alternate stack and on the ordinary one. */
#include "e2e.h"
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf back;
static volatile int *volatile nowhere;

SITE static void handler_work(void) { free(checked(malloc(10))); STAY(); }
SITE static void main_work(void) { free(checked(malloc(20))); STAY(); }

static void handler(int signal) {
    handler_work();
    siglongjmp(back, signal);
}

int main(void) {
    static char stack[65536];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    if (sigaltstack(&alternate, NULL)) return 1;
    for (volatile int i = 0; i < 200; ++i) {
        struct sigaction action = {.sa_handler = handler, .sa_flags = i % 2 ? SA_ONSTACK : 0};
        sigaction(SIGUSR1, &action, NULL);
        sigaction(SIGSEGV, &action, NULL);
        const int signal = sigsetjmp(back, 1);
        if (signal == 0) {
            main_work();
            if (i % 4 < 2) raise(SIGUSR1);
            else *nowhere = 1;
            return 2;
        }
        main_work();
    }
    return 0;
}
