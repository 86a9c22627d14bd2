/* titles ...: as servers do it, two workers write what they do over their arguments, before and after their first block; a
 * third one renames its thread only. */
#include "e2e.h"
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

SITE static void serve(void) {
    for (int i = 0; i < 100; ++i) keep(checked(malloc(100)));
    STAY();
}

int main(int count, char **words) {
    char *start = words[0], *end = words[count - 1] + strlen(words[count - 1]);
    for (int worker = 0; worker < 3; ++worker) {
        const pid_t child = fork();
        if (child != 0) {
            waitpid(child, NULL, 0);
            continue;
        }
        if (worker == 1) serve();
        if (worker < 2) {
            memset(start, 0, (size_t)(end - start));
            snprintf(start, (size_t)(end - start), "app: worker %d dir=/var/lib/x mode=a b", worker);
        } else {
            prctl(PR_SET_NAME, "io/worker 2");
        }
        if (worker != 1) serve();
        usleep(300000);
        _exit(0);
    }
    return 0;
}
