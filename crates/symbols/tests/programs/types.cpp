// Types of many kinds, each with a vector of it, and a program that prints their sizes.
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct TextAttributeRun { long begin; int colour; };
typedef struct { int a, b, c; } Unnamed;

namespace shop {
struct Cart {
    struct Item { char name[24]; };
    struct Hidden;
    template <class T, int N> struct Grid { T cells[N]; };
};
struct Cart::Hidden { char bytes[40]; };
enum class Colour : unsigned short { Red, Green };
template <Colour> struct Tint { char bytes[7]; };
union Either { char c; double d; };
struct Declared;
}

namespace { struct Local { char bytes[3]; }; }

template <class T> __attribute__((noinline)) void use(const char *name) {
    std::vector<T> many(3);
    std::printf("%s|%zu %p\n", name, sizeof(T), static_cast<void *>(many.data()));
}

__attribute__((noinline)) shop::Declared *declared() { return nullptr; }

#define USE(...) use<__VA_ARGS__>(#__VA_ARGS__)

int main() {
    USE(TextAttributeRun);
    USE(Unnamed);
    USE(shop::Cart::Item);
    USE(shop::Cart::Hidden);
    USE(shop::Cart::Grid<unsigned long, 5>);
    USE(shop::Colour);
    USE(shop::Tint<(shop::Colour)1>);
    USE(shop::Either);
    use<Local>("(anonymous namespace)::Local");
    USE(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >);
    USE(std::array<char const*, 3ul>);
    USE(std::array<short, 6ul>);
    USE(std::pair<int const, std::unique_ptr<int, std::default_delete<int> > >);
    USE(std::vector<Unnamed, std::allocator<Unnamed> >);
    USE(std::map<int, unsigned char, std::less<int>, std::allocator<std::pair<int const, unsigned char> > >);
    USE(char const*);
    USE(double);
    return declared() != nullptr;
}
