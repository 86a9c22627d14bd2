/* Runs a program and says how large its largest resident set was, KiB. A process begins with the peak of the one that
 * starts it: this one is small. */
#include "e2e.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

int main(int count, char **words) {
    if (count < 2) return 2;
    const pid_t child = fork();
    if (child < 0) return 3;
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        if (nowhere < 0 || dup2(nowhere, 1) < 0) _exit(92);
        execvp(words[1], words + 1);
        _exit(93);
    }
    int status;
    struct rusage usage;
    if (wait4(child, &status, 0, &usage) != child || status != 0) return 4;
    say_number("peak", usage.ru_maxrss);
    return 0;
}
