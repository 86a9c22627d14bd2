/* own_threads PLUGIN: an executable with a pthread_create of its own, as browsers have it, installs a filter that allows everything, and
 * loads a plugin then. A child that it forks before calls nothing. */
#include "e2e.h"
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *), void *argument) {
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return next(thread, attributes, work, argument);
}

int main(int count, char **arguments) {
    (void)count;
    int status = 0;
    const pid_t child = fork();
    if (child == 0) _exit(0);
    if (waitpid(child, &status, 0) != child || status != 0) return 2;
    struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {1, allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) return 3;
    void *plugin = dlopen(arguments[1], RTLD_NOW);
    void (*entry)(void) = NULL;
    if (plugin) *(void **)&entry = dlsym(plugin, "plugin_entry");
    if (!entry) return 4;
    entry();
    return 0;
}
