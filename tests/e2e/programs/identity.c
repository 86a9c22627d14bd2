/* Prints who it is. Exits with 6. */
#include "e2e.h"

int main(void) {
    say_number("user", getuid());
    say_number("effective user", geteuid());
    free(checked(malloc(10)));
    return 6;
}
