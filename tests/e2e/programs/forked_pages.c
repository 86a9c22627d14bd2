// A parent with blocks and a mapping, of which its forked child gives back the half.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMiB = 1 << 20, kBlocks = 1000, kOwn = 100, kBytes = 24000 };

static void* volatile kept;

__attribute__((noinline)) static void* parents(void) { return memset(malloc(kBytes), 1, kBytes); }
__attribute__((noinline)) static void* childs(void) { return memset(malloc(kBytes), 2, kBytes); }

int main(void) {
    static void* blocks[kBlocks];
    static void* own[kOwn];
    for (int i = 0; i < kBlocks; i++) blocks[i] = parents();
    char* mapping = mmap(NULL, 8 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(mapping, 8 * kMiB, MADV_NOHUGEPAGE);
    memset(mapping, 1, 8 * kMiB);
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < kBlocks; i += 2) free(blocks[i]);
        for (int i = 0; i < kOwn; i++) own[i] = childs();
        munmap(mapping, 4 * kMiB);
        kept = own;
        exit(0);
    }
    // The child does not have the blocks that the parent gets later.
    for (int i = 0; i < kOwn; i++) own[i] = parents();
    kept = own;
    waitpid(child, NULL, 0);
    printf("child %d\n", child);
    return 0;
}
