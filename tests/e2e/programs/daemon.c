/* daemon FILE: becomes a daemon with two forks; the daemon works on for a while and then writes to FILE how
 * much processor time it took, in microseconds. */
#include "e2e.h"
#include <fcntl.h>
#include <sys/resource.h>

SITE static void daemon_work(void) {
    /* It sleeps seldom: each time, the kernel's two clocks of processor time part by what switching takes. */
    for (int i = 0; i < 300; ++i) {
        memset(checked(malloc(10000)), 1, 10000);
        if (i % 10 == 0) usleep(10000);
    }
    STAY();
}

int main(int argc, char **argv) {
    if (argc != 2) return 1;
    if (fork() != 0) return 0;
    if (setsid() < 0) return 2;
    if (fork() != 0) return 0;
    if (chdir("/")) return 3;
    for (int fd = 0; fd < 3; ++fd) {
        close(fd);
        if (open("/dev/null", O_RDWR) != fd) return 4;
    }
    daemon_work();
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const long microseconds = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000L + usage.ru_utime.tv_usec +
                              usage.ru_stime.tv_usec;
    return dprintf(open(argv[1], O_WRONLY | O_CREAT, 0600), "%ld", microseconds) <= 0;
}
