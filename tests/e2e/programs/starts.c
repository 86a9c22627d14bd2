/* starts WAY PROGRAM: starts PROGRAM in one of the ways there are, waits for it and passes its exit code on, plus 1.
 * A way that begins with "exec" puts PROGRAM in the place of this process. */
#include "e2e.h"
#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;

SITE static void starter_work(void) {
    for (int i = 0; i < 5; ++i) checked(malloc(10));
    STAY();
}

static int finish(pid_t child) {
    int status;
    if (child <= 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 93;
    return WEXITSTATUS(status) + 1;
}

int main(int argc, char **argv) {
    if (argc != 3) return 94;
    const char *way = argv[1];
    char *const arguments[] = {argv[2], "3", NULL}, *const nothing[] = {NULL};
    starter_work();
#define WAY(name) if (strcmp(way, name) == 0)
    pid_t child;
    WAY("posix_spawn") return posix_spawn(&child, argv[2], NULL, NULL, arguments, environ) ? 92 : finish(child);
    WAY("posix_spawnp") return posix_spawnp(&child, argv[2], NULL, NULL, arguments, environ) ? 92 : finish(child);
    WAY("spawn-no-environment")
        return posix_spawn(&child, argv[2], NULL, NULL, arguments, nothing) ? 92 : finish(child);
    WAY("vfork") {
        child = vfork();
        if (child == 0) {
            execve(argv[2], arguments, environ);
            _exit(92);
        }
        return finish(child);
    }
    WAY("_Fork") {
        child = _Fork();
        if (child == 0) {
            execve(argv[2], arguments, environ);
            _exit(92);
        }
        return finish(child);
    }
    WAY("fork") {
        child = fork();
        if (child == 0) {
            execve(argv[2], arguments, environ);
            _exit(92);
        }
        return finish(child);
    }
    WAY("vfork-fails") { /* the parent's memory is the child's for a moment, and must survive it */
        child = vfork();
        if (child == 0) {
            execl("/nowhere", "nowhere", NULL);
            _exit(7);
        }
        starter_work();
        return finish(child);
    }
    WAY("system") {
        char line[4096];
        snprintf(line, sizeof line, "%s 3", argv[2]);
        const int status = system(line);
        return WIFEXITED(status) ? WEXITSTATUS(status) + 1 : 93;
    }
    WAY("exec-v") execv(argv[2], arguments);
    WAY("exec-ve") execve(argv[2], arguments, environ);
    WAY("exec-ve-no-environment") execve(argv[2], arguments, nothing);
    WAY("exec-vp") execvp(argv[2], arguments);
    WAY("exec-vpe") execvpe(argv[2], arguments, environ);
    WAY("exec-l") execl(argv[2], argv[2], "3", NULL);
    WAY("exec-lp") execlp(argv[2], argv[2], "3", NULL);
    WAY("exec-le") execle(argv[2], argv[2], "3", NULL, nothing);
    WAY("exec-fd") fexecve(open(argv[2], O_RDONLY | O_CLOEXEC), arguments, environ);
    WAY("exec-at") execveat(AT_FDCWD, argv[2], arguments, environ, 0);
    WAY("exec-fails") { /* goes on after it */
        execl("/nowhere", "nowhere", NULL);
        starter_work();
        return 6;
    }
    return 95;
}
