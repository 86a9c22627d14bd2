/* Uses lib_parses.c in three places, most of all its `read_numbers`. */
#include "e2e.h"

void read_numbers(void);
void read_names(void);
void copy_names(void);

SITE static void load_numbers(void) { for (int i = 0; i < 400; ++i) read_numbers(); STAY(); }
SITE static void load_names(void) { for (int i = 0; i < 60; ++i) read_names(); STAY(); }
SITE static void save_names(void) { for (int i = 0; i < 40; ++i) copy_names(); STAY(); }

int main(void) {
    load_numbers();
    load_names();
    save_names();
    return 0;
}
