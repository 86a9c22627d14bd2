/* A timer's handler allocates while main is nearly always inside a hooked function: free(NULL), which in libc takes no
 * lock, so that the handler may allocate. Prints on standard error how often the handler ran. */
#include "e2e.h"
#include <signal.h>
#include <sys/time.h>

static volatile long alarms;

SITE static void on_alarm(void) { free(checked(malloc(10))); STAY(); }

static void handler(int signal) {
    (void)signal;
    on_alarm();
    ++alarms;
}

SITE static long spin(void) {
    long calls = 0;
    while (alarms < 500)
        for (int i = 0; i < 100; ++i, ++calls) {
            void *nothing = NULL;
            __asm__ volatile("" : "+r"(nothing));
            free(nothing);
        }
    return calls;
}

int main(void) {
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGALRM, &action, NULL);
    const struct itimerval every_half_millisecond = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &every_half_millisecond, NULL);
    const long calls = spin();
    setitimer(ITIMER_REAL, &never, NULL);
    char line[100];
    snprintf(line, sizeof line, "alarms %ld calls %ld\n", alarms, calls);
    return write(2, line, strlen(line)) < 0;
}
