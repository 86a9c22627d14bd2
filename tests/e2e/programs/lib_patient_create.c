/* A pthread_create that comes back when the program says so. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

void (*before_it_returns)(void);

int pthread_create(pthread_t *handle, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    const int error = real(handle, attributes, start, argument);
    if (!error && before_it_returns) before_it_returns();
    return error;
}
