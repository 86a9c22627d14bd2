#include <jni.h>
#include <stdlib.h>

/* Takes `count` blocks and frees nine of ten. */
JNIEXPORT jlong JNICALL Java_J_make(JNIEnv *env, jclass class, jint count) {
    (void)env, (void)class;
    long sum = 0;
    for (int i = 0; i < count; ++i) {
        char *block = malloc(64 + i % 100);
        __asm__ volatile("" : : "r"(block) : "memory");
        sum += block[0] = (char)i;
        if (i % 10) free(block);
    }
    return sum;
}
