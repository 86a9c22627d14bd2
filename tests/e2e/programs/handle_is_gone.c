/* Threads that unmap the memory in which their creator keeps their handle, before the creator gets the processor back: it
   yields to them at each opportunity. */
#define _GNU_SOURCE
#include "e2e.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define THREADS 20

static sem_t done;

SITE static void *detached_work(void *page) {
    munmap(page, 4096);
    char *volatile block = malloc(10);
    free(block);
    sem_post(&done);
    return 0;
}

int main(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
    if (sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0})) return 3;
    sem_init(&done, 0, 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_t *handle = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pthread_create(handle, &attributes, detached_work, handle)) return 4;
        while (sem_wait(&done)) {}
    }
    puts("all gone");
    return 0;
}
