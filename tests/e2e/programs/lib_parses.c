/* A library with an allocation function of its own. What it exports keeps its name when it is stripped, and `node` does
 * not: it allocates for three others. */
#include "e2e.h"

void *own_alloc(size_t size);
void read_numbers(void);
void read_names(void);
void copy_names(void);

SITE void *own_alloc(size_t size) { void *block = checked(malloc(size)); STAY(); return block; }
SITE static void *node(void) { void *block = own_alloc(40); STAY(); return block; }
SITE void read_numbers(void) { free(own_alloc(20)); free(node()); STAY(); }
SITE void read_names(void) { free(own_alloc(20)); free(node()); STAY(); }
SITE void copy_names(void) { free(own_alloc(60)); free(node()); STAY(); }
