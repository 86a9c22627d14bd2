/* What /proc tells of a thread or process. */
#ifndef STATE_H
#define STATE_H

#include "e2e.h"
#include <fcntl.h>

/* 'R' runs, 'S' sleeps, 'T' is stopped: the field behind the name, which is in parentheses. A process is its first thread. */
static inline char state_of(int tid) {
    char line[128] = "";
    snprintf(line, sizeof line, "/proc/%d/stat", tid);
    const int file = open(line, O_RDONLY);
    const ssize_t bytes = file < 0 ? -1 : read(file, line, sizeof line - 1);
    if (bytes < 0) _exit(95);
    close(file);
    line[bytes] = 0;
    const char *name_end = strrchr(line, ')');
    return name_end ? name_end[2] : 0;
}

#endif
