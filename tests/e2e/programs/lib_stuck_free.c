/* A preloaded free() that does not return for one block, until it is told to, although others may have the block already. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>

void __libc_free(void *block);

_Atomic(void *) stuck_block;
atomic_int stuck_state; /* 1: the block is free, 2: go on */

void free(void *block) {
    const int stays = block && block == atomic_load(&stuck_block);
    if (stays) atomic_store(&stuck_block, NULL);
    __libc_free(block);
    if (!stays) return;
    atomic_store(&stuck_state, 1);
    while (atomic_load(&stuck_state) != 2) sched_yield();
}
