// Every replaceable form of operator new and delete, each a different number of times, from a function of its own.
#include "e2e.h"
#include <cstdint>
#include <new>

namespace {

constexpr std::align_val_t kAlign{256};
const std::nothrow_t& quiet = std::nothrow;

void* aligned(void* block) {
    if (reinterpret_cast<std::uintptr_t>(checked(block)) % 256) _exit(92);
    return block;
}

SITE void* plain() { return checked(::operator new(24)); }
SITE void* array() { return checked(::operator new[](24)); }
SITE void* nothrow_plain() { return checked(::operator new(24, quiet)); }
SITE void* nothrow_array() { return checked(::operator new[](24, quiet)); }
SITE void* aligned_plain() { return aligned(::operator new(24, kAlign)); }
SITE void* aligned_array() { return aligned(::operator new[](24, kAlign)); }
SITE void* aligned_nothrow_plain() { return aligned(::operator new(24, kAlign, quiet)); }
SITE void* aligned_nothrow_array() { return aligned(::operator new[](24, kAlign, quiet)); }

} // namespace

int main() {
    for (int i = 0; i < 10; ++i) ::operator delete(plain());
    for (int i = 0; i < 1; ++i) ::operator delete(plain(), std::size_t{24});
    for (int i = 0; i < 12; ++i) ::operator delete[](array());
    for (int i = 0; i < 1; ++i) ::operator delete[](array(), std::size_t{24});
    for (int i = 0; i < 15; ++i) ::operator delete(nothrow_plain(), quiet);
    for (int i = 0; i < 17; ++i) ::operator delete[](nothrow_array(), quiet);
    for (int i = 0; i < 18; ++i) ::operator delete(aligned_plain(), kAlign);
    for (int i = 0; i < 1; ++i) ::operator delete(aligned_plain(), std::size_t{24}, kAlign);
    for (int i = 0; i < 20; ++i) ::operator delete[](aligned_array(), kAlign);
    for (int i = 0; i < 1; ++i) ::operator delete[](aligned_array(), std::size_t{24}, kAlign);
    for (int i = 0; i < 23; ++i) ::operator delete(aligned_nothrow_plain(), kAlign, quiet);
    for (int i = 0; i < 25; ++i) ::operator delete[](aligned_nothrow_array(), kAlign, quiet);
}
