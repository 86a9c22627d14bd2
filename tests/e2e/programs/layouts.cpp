// Types of all kinds, and what the compiler says of them: a line for each member, `TYPE MEMBER OFFSET SIZE`, and one for
// each type, `TYPE - SIZE ALIGNMENT`.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace app {

struct Row {
    bool is_set;
    double value;
    char kind;
    double weight;
    short column;
};

struct Base {
    int id;
    char tag;
    virtual ~Base() = default;
};

struct Derived : Base {
    double value;
    char last;
};

union Either {
    char text[13];
    double number;
    int *pointer;
};

struct __attribute__((packed)) Packed {
    char first;
    int second;
    short third;
};

template <class T, int N> struct Table {
    char head;
    T values[N];
    long double wide;
    std::string name;
};

struct alignas(32) Aligned {
    char one;
    int (*function)(int);
    Either either;
    int matrix[2][3];
};

struct Bits {
    unsigned low : 3;
    unsigned high : 7;
    char after;
    double value;
    unsigned long wide : 40;
    int last;
};

// Many ways lead from it to itself.
struct Node {
    Node *left, *right, *up, *down, *next, *previous, *first, *last, *mother, *father;
    Node *(*follow)(Node *);
    int Node::*field;
    void (Node::*method)();
    const Node *const constant;
    char mark;
};

}

#define TYPE(...) using Type = __VA_ARGS__; const char *type = #__VA_ARGS__; std::printf("%s - %zu %zu\n", type, sizeof(Type), alignof(Type))
#define MEMBER(name) std::printf("%s " #name " %zu %zu\n", type, offsetof(Type, name), sizeof(Type::name))

int main() {
    { TYPE(app::Row); MEMBER(is_set); MEMBER(value); MEMBER(kind); MEMBER(weight); MEMBER(column); }
    { TYPE(app::Base); MEMBER(id); MEMBER(tag); }
    { TYPE(app::Derived); MEMBER(value); MEMBER(last); }
    { TYPE(app::Either); MEMBER(text); MEMBER(number); MEMBER(pointer); }
    { TYPE(app::Packed); MEMBER(first); MEMBER(second); MEMBER(third); }
    { TYPE(app::Table<short, 5>); MEMBER(head); MEMBER(values); MEMBER(wide); MEMBER(name); }
    { TYPE(app::Aligned); MEMBER(one); MEMBER(function); MEMBER(either); MEMBER(matrix); }
    { TYPE(app::Bits); MEMBER(after); MEMBER(value); MEMBER(last); }
    { TYPE(app::Node); MEMBER(left); MEMBER(father); MEMBER(follow); MEMBER(field); MEMBER(method); MEMBER(constant); MEMBER(mark); }
    // Compilers say nothing of types that have no object.
    struct {
        app::Row row;
        app::Derived derived;
        app::Either either;
        app::Packed packed;
        app::Table<short, 5> table;
        app::Aligned aligned;
        app::Bits bits;
        app::Node node;
    } all{};
    __asm__ volatile("" : : "r"(&all) : "memory");
    // Live at the peak: 1000 rows, as far as the recording knows.
    std::vector<app::Row> rows;
    rows.reserve(1000);
    __asm__ volatile("" : : "r"(rows.data()) : "memory");
    return 0;
}
