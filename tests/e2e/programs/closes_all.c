/* closes_all DIRECTORY: closes every descriptor it does not know, as daemons do, again and again, and then opens files of
 * its own under the numbers that are free now. They must hold what it writes, and nothing else. */
#include "e2e.h"
#include <fcntl.h>

SITE static void work(void) {
    for (int i = 0; i < 1000; ++i) free(checked(malloc(10)));
    STAY();
}

int main(int argc, char **argv) {
    if (argc != 2) return 1;
    for (int round = 0; round < 3; ++round) {
        work();
        for (int fd = 3; fd < 1024; ++fd) close(fd);
        if (round == 2) close_range(3, ~0u, 0);
        int files[40];
        for (int i = 0; i < 40; ++i) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%d", argv[1], i);
            files[i] = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
            if (files[i] != 3 + i) return 2; /* a stranger holds a descriptor */
        }
        work();
        for (int i = 0; i < 40; ++i)
            if (write(files[i], "mine", 4) != 4) return 3;
        work();
        for (int i = 0; i < 40; ++i) {
            char text[8];
            if (pread(files[i], text, sizeof text, 0) != 4 || memcmp(text, "mine", 4)) return 4;
            close(files[i]);
        }
    }
    say("all mine\n");
    return 0;
}
