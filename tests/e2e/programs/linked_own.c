/* linked_own: a program that is linked with a library that has an allocator for itself (lib_own_mimalloc.c). */
int lib_own_work(int blocks);

int main(void) { return lib_own_work(1000) != 1000; }
