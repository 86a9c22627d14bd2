/* Linked with c23_library.c. */
#include "e2e.h"

void free_sized(void *, size_t);
void free_aligned_sized(void *, size_t, size_t);
extern int calls_of_free_sized, calls_of_free_aligned_sized;

SITE static void *make(void) { return checked(aligned_alloc(64, 128)); }

int main(void) {
    for (int i = 0; i < 10; ++i) {
        free_sized(make(), 128);
        free_aligned_sized(make(), 64, 128);
    }
    free_sized(NULL, 0);
    say_number("free_sized", calls_of_free_sized);
    say_number("free_aligned_sized", calls_of_free_aligned_sized);
    return 0;
}
