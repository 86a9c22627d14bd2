// Global variables of which it is known which pages are written. What has a size of whole pages begins with one.
#include "pages.h"

extern "C" void fill_library(void);
extern "C" void fill_stripped(void);

#define PAGES __attribute__((aligned(4096), used))

PAGES static char half[5 << 20];
PAGES static char never[1 << 20];
PAGES static thread_local char of_thread[1 << 20];

// On one page, with what the linker places there, too.
PAGES static char thousand[1000];
static char flag __attribute__((used));

namespace app {
PAGES int table[256 << 10];
namespace {
PAGES char hidden[64 << 10];
}
struct Cache {
    static char lines[128 << 10];
};
PAGES char Cache::lines[128 << 10];
}  // namespace app

SITE static void fill() {
    PAGES static char buffer[3 << 20];
    memset(buffer, 1, sizeof buffer);
    keep(buffer);
}

int main() {
    small_pages_only();
    memset(half, 1, sizeof half / 2);
    memset(app::table, 1, sizeof app::table);
    memset(app::hidden, 1, sizeof app::hidden);
    memset(app::Cache::lines, 1, sizeof app::Cache::lines);
    memset(thousand, 1, sizeof thousand);
    memset(of_thread, 1, sizeof of_thread);
    flag = 1;
    keep(half), keep(never), keep(app::table), keep(thousand), keep(of_thread);
    fill();
    fill_library();
    fill_stripped();
    keep(checked(malloc(16)));
    return 0;
}
