/* Threads that unmap the memory in which their creator keeps their handle, before its pthread_create is back
 * (lib_patient_create.c). */
#define _GNU_SOURCE
#include "e2e.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define THREADS 20

extern void (*before_it_returns)(void);

static sem_t done;

static void wait_for_it(void) {
    while (sem_wait(&done)) {}
}

SITE static void *detached_work(void *page) {
    munmap(page, 4096);
    char *volatile block = malloc(10);
    free(block);
    sem_post(&done);
    return 0;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sem_init(&done, 0, 0);
    before_it_returns = wait_for_it;
    for (int i = 0; i < THREADS; i++) {
        pthread_t *handle = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pthread_create(handle, &attributes, detached_work, handle)) return 4;
    }
    puts("all gone");
    return 0;
}
