/* steady FILE MILLISECONDS: allocates steadily for that time, then writes FILE and prints a line. Ends early, with exit
 * code 5, when it gets SIGTERM or SIGINT. */
#include "e2e.h"
#include <fcntl.h>
#include <signal.h>

static volatile sig_atomic_t asked;

SITE static void steady_work(void) {
    for (int i = 0; i < 2000; ++i) free(checked(malloc(16 + i % 100)));
    STAY();
}

static void handler(int signal) { asked = signal; }

int main(int argc, char **argv) {
    if (argc != 3) return 1;
    signal(SIGTERM, handler);
    signal(SIGINT, handler);
    say("started\n");
    for (long left = atol(argv[2]); left > 0 && !asked; left -= 5) {
        steady_work();
        usleep(5000);
    }
    say(asked ? "asked to end\n" : "finished\n");
    const int fd = open(argv[1], O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || close(fd)) return 2;
    return asked ? 5 : 0;
}
