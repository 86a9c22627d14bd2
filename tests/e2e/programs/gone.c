/* gone WAY A.so B.so: loads libraries of which nothing is left at their paths when the program ends.
 *   unlink   copies A into the working directory, loads it, and deletes it at once
 *   replace  the same; then B takes its place, and is loaded as well
 *   memfd    loads A from a descriptor
 *   self     deletes its own executable */
#include "e2e.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

static void *map_file(const char *path, size_t *bytes) {
    int file = open(path, O_RDONLY);
    struct stat about;
    if (file < 0 || fstat(file, &about)) _exit(80);
    *bytes = (size_t)about.st_size;
    void *content = mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (content == MAP_FAILED) _exit(81);
    return content;
}

static void write_all(int to, const char *path) {
    size_t bytes;
    void *content = map_file(path, &bytes);
    if (to < 0 || write(to, content, bytes) != (ssize_t)bytes) _exit(82);
    munmap(content, bytes);
}

static void *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library) _exit(83);
    return library;
}

static void use(void *library) {
    void (*entry)(void);
    *(void **)&entry = dlsym(library, "plugin_entry");
    entry();
}

static void *load_copy(const char *of) {
    int file = open("unpacked.so", O_WRONLY | O_CREAT | O_EXCL, 0600);
    write_all(file, of);
    close(file);
    void *library = load("./unpacked.so");
    if (unlink("unpacked.so")) _exit(84);
    return library;
}

SITE static void own_block(void) { free(checked(malloc(77))); STAY(); }

int main(int argc, char **argv) {
    if (argc != 4) return 1;
    char path[64];
    if (strcmp(argv[1], "unlink") == 0) {
        use(load_copy(argv[2]));
    } else if (strcmp(argv[1], "replace") == 0) {
        void *first = load_copy(argv[2]);
        use(first);
        dlclose(first);
        use(load_copy(argv[3]));
    } else if (strcmp(argv[1], "memfd") == 0) {
        int file = memfd_create("unpacked", 0);
        write_all(file, argv[2]);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        use(load(path));
    } else {
        char own[4096];
        ssize_t bytes = readlink("/proc/self/exe", own, sizeof own - 1);
        if (bytes < 0) return 2;
        own[bytes] = 0;
        if (unlink(own)) return 3;
        own_block();
    }
    return 0;
}
