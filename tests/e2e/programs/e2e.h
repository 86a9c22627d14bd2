/* Shared by the programs: functions that stay functions in the optimised build, and output without stdio, which would
 * allocate a buffer. */
#ifndef E2E_H
#define E2E_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Neither inlined nor cloned, whatever the level of optimisation. */
#ifdef __clang__
#define SITE __attribute__((noinline))
#else
#define SITE __attribute__((noipa))
#endif

/* As the last statement of a function: the call before it is no tail call. */
#define STAY() __asm__ volatile("" ::: "memory")

/* Makes the compiler believe that the block is used. */
static inline void keep(void *block) { __asm__ volatile("" : : "r"(block) : "memory"); }

static inline void say(const char *text) {
    if (write(1, text, strlen(text)) < 0) _exit(90);
}

static inline void say_number(const char *label, long number) {
    char line[128]; /* snprintf of a number does not allocate */
    snprintf(line, sizeof line, "%s %ld\n", label, number);
    say(line);
}

/* Every allocation here is meant to succeed. */
static inline void *checked(void *block) {
    if (!block) _exit(91);
    keep(block);
    return block;
}

#endif
