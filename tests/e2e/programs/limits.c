/* limits WHICH [DIRECTORY]: takes something away from itself, and goes on allocating. */
#include "e2e.h"
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

SITE static void before(void) {
    for (int i = 0; i < 100; ++i) free(checked(malloc(10)));
    STAY();
}
SITE static void after(void) {
    for (int i = 0; i < 50000; ++i) free(checked(malloc(10)));
    STAY();
}
static void *on_thread(void *unused) {
    after();
    return unused;
}

static void limit(int resource, rlim_t value) {
    const struct rlimit both = {value, value};
    if (setrlimit(resource, &both)) _exit(92);
}

/* Not ru_maxrss: exec keeps that of the process that started this one. */
static long largest_resident_kib(void) {
    char text[8192];
    const int file = open("/proc/self/status", O_RDONLY);
    const ssize_t length = read(file, text, sizeof text - 1);
    if (length <= 0 || close(file)) _exit(93);
    text[length] = 0;
    const char *line = strstr(text, "VmHWM:");
    return line ? strtol(line + 6, NULL, 10) : -1;
}

int main(int argc, char **argv) {
    if (argc < 2) return 1;
    before();
#define WHICH(name) if (strcmp(argv[1], name) == 0)
    WHICH("files") limit(RLIMIT_NOFILE, 0);
    WHICH("file-size") limit(RLIMIT_FSIZE, 4096);
    WHICH("locked-memory") limit(RLIMIT_MEMLOCK, 0);
    WHICH("chroot") if (chroot(argv[2]) || chdir("/")) return 2;
    WHICH("user") if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)) return 3;
    WHICH("umask") umask(0777);
    WHICH("lock-all") {
        if (mlockall(MCL_CURRENT)) return 4;
        say_number("small", largest_resident_kib() < (100 << 10));
    }
    WHICH("directory-gone") if (mkdir(argv[2], 0700) || chdir(argv[2]) || rmdir(argv[2])) return 5;
    after();
    say_number("own descriptor", open("/dev/null", O_RDONLY));
    pthread_t thread;
    const int error = pthread_create(&thread, NULL, on_thread, NULL);
    if (!error) pthread_join(thread, NULL);
    say_number("thread", error);
    after();
    return 0;
}
