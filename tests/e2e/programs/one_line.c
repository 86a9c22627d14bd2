// Allocates twice in one line, as often as its argument says.
#include <stdlib.h>

static void* volatile sink;

int main(int count, char** arguments) {
    for (int i = atoi(arguments[count - 1]); i > 0; i--) {
        sink = malloc(10), free(sink), sink = malloc(20), free(sink);
    }
    return 0;
}
