/* stubborn FILE: ignores SIGTERM and SIGINT, writes its process id into FILE, and goes on until it is killed. */
#include "e2e.h"
#include <fcntl.h>
#include <signal.h>

SITE static void stubborn_work(void) {
    for (int i = 0; i < 2000; ++i) free(checked(malloc(10)));
    STAY();
}

int main(int argc, char **argv) {
    if (argc != 2) return 1;
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    stubborn_work();
    char line[32];
    snprintf(line, sizeof line, "%d\n", (int)getpid());
    const int file = open(argv[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || write(file, line, strlen(line)) < 0) return 2;
    for (;;) {
        usleep(5000);
        stubborn_work();
    }
}
