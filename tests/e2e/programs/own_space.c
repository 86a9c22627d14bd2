/* own_space: opens a plugin (space_plugin.c, or space_plugin.cpp) in a way that binds its calls past the recorder.
 *
 * own_space HOW PLUGIN [TIMES]: deep, lazy (the same, bound when first called), name (the same, found through LD_LIBRARY_PATH),
 * space (dlmopen), spaces (TIMES of them at a time), again (opened and closed TIMES times), threads, fork; storm: eight threads open and
 * close PLUGIN0 to PLUGIN7 at the same time, one of them with dlmopen. */
#include "e2e.h"
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>

static void *opened(const char *how, const char *plugin) {
    void *handle;
    if (!strcmp(how, "deep") || !strcmp(how, "again")) handle = dlopen(plugin, RTLD_NOW | RTLD_DEEPBIND);
    else if (!strcmp(how, "lazy") || !strcmp(how, "name")) handle = dlopen(plugin, RTLD_LAZY | RTLD_DEEPBIND);
    else if (!strcmp(how, "local")) handle = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    else handle = dlmopen(LM_ID_NEWLM, plugin, RTLD_NOW);
    if (!handle) {
        say(dlerror());
        _exit(92);
    }
    return handle;
}

static void *work_of(void *handle) {
    void *function = dlsym(handle, "plugin_work");
    if (!function) _exit(93);
    return function;
}

static void *in_thread(void *function) {
    ((void (*)(void))function)();
    return NULL;
}

static const char *plugins;
static int rounds;

static void *storm(void *number) {
    char path[4096];
    snprintf(path, sizeof path, "%s%ld", plugins, (long)number);
    for (int i = 0; i < rounds; ++i) {
        void *handle = opened((long)number == 7 ? "space" : i % 2 ? "deep" : "lazy", path);
        ((void (*)(void))work_of(handle))();
        dlclose(handle);
    }
    return NULL;
}

int main(int count, char **arguments) {
    const char *how = arguments[1], *plugin = arguments[2];
    const int times = count > 3 ? atoi(arguments[3]) : 1;
    if (!strcmp(how, "storm")) {
        plugins = plugin;
        rounds = times;
        pthread_t threads[8];
        for (long k = 0; k < 8; ++k) pthread_create(&threads[k], NULL, storm, (void *)k);
        for (int k = 0; k < 8; ++k) pthread_join(threads[k], NULL);
        say("fine\n");
        return 0;
    }
    for (int i = 0; i < times; ++i) {
        void *handle = opened(how, plugin);
        void (*work)(void) = (void (*)(void))work_of(handle);
        if (!strcmp(how, "threads")) {
            pthread_t threads[4];
            for (int k = 0; k < 4; ++k) pthread_create(&threads[k], NULL, in_thread, (void *)work);
            for (int k = 0; k < 4; ++k) pthread_join(threads[k], NULL);
        } else if (!strcmp(how, "fork")) {
            const pid_t child = fork();
            if (child == 0) {
                work();
                _exit(0);
            }
            int status;
            waitpid(child, &status, 0);
            if (status) _exit(94);
        } else {
            work();
        }
        if (!strcmp(how, "again")) dlclose(handle);
    }
    say("fine\n");
    return 0;
}
