// A library that makes objects with whichever operators the program has.
#include "e2e.h"

struct Object {
    long numbers[3];
};
Object* library_makes();
void library_deletes(Object* object);

SITE Object* library_makes() {
    auto* object = new Object;
    keep(object);
    return object;
}
SITE void library_deletes(Object* object) {
    delete object;
    STAY();
}
