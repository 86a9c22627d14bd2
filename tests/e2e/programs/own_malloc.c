/* own_malloc: an executable that brings its own malloc, as rustc does, and a library that uses it (lib_for_own.c). A child that it
 * forks maps memory, and calls no malloc. */
#include "e2e.h"
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

static char memory[64 << 20] __attribute__((aligned(4096)));
static size_t used;
static long calls, releases;

static void *take(size_t alignment, size_t size) {
    const size_t start = (used + sizeof(size_t) + alignment - 1) / alignment * alignment;
    if (size > sizeof memory - start) {
        errno = ENOMEM;
        return NULL;
    }
    used = start + size;
    ++calls;
    ((size_t *)(memory + start))[-1] = size;
    return memory + start;
}

/* Callers that a compiler puts these into call nothing that could be seen. */
__attribute__((noipa)) void *malloc(size_t size) { return take(16, size); }
__attribute__((noipa)) void free(void *block) { releases += block != NULL; }
void *calloc(size_t count, size_t size) { return take(16, count * size); }
void *realloc(void *block, size_t size) {
    char *moved = take(16, size);
    if (block && moved) {
        const size_t old = ((size_t *)block)[-1];
        memcpy(moved, block, old < size ? old : size);
    }
    return moved;
}
void *memalign(size_t alignment, size_t size) { return take(alignment < 16 ? 16 : alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}
size_t malloc_usable_size(void *block) { return block ? ((size_t *)block)[-1] : 0; }

void library_work(void);
void library_release(void *block);

static int is_ours(const void *block) { return (const char *)block >= memory && (const char *)block < memory + used; }

SITE static void executable_work(void) {
    for (int i = 0; i < 20; ++i) free(checked(malloc(10)));
    STAY();
}

int main(void) {
    const pid_t child = fork();
    if (child == 0) _exit(munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096));
    int status = -1;
    if (waitpid(child, &status, 0) != child || status != 0) return 6;
    executable_work();
    library_work();
    char *text = strdup("libc's own calls come here too");
    say_number("strdup is ours", is_ours(text));
    say_number("called", calls > 70);
    const long before = releases;
    library_release(text);
    say_number("released", releases - before);
    return 5;
}
