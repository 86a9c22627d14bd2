// Two functions that nothing exports, and a label between them that is exported, as OCaml's at the end of a file's code.
#define KEPT __attribute__((noipa))

static KEPT int before(int n) { return n + 1; }

__asm__(".globl end_of_before\nend_of_before:\n");

static KEPT int after(int n) { return before(n) + before(n + 1) + 2; }

int main(int count, char **arguments) { return before(count) + after(count) + (arguments == 0); }
