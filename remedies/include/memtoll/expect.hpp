// Scopes that say how many allocations there may be in them: in tests, and in programs, around a frame.
//
//     void draw() {
//         const memtoll::expect_no_allocations scope("frame");
//         ...
//     }
//
// A scope that ends with more is reported with file, line and numbers: by default to standard error, and the program is
// aborted. A test asks for the result instead (GoogleTest, Catch2), or has all of them reported as failures:
//
//     memtoll::expect_at_most scope(2);
//     load();
//     const auto result = scope.end();
//     EXPECT_TRUE(result) << result.what();                       // INFO(result.what()); CHECK(result);
//
//     memtoll::on_unexpected_allocations([](const memtoll::scope_allocations& result) {
//         ADD_FAILURE_AT(result.file, result.line) << result.what();   // FAIL_CHECK(result.what());
//     });
//
// Allocations must be counted: one .cpp of the program includes <memtoll/count_allocations.hpp>. Without it, every scope
// fails and says so. A scope with a name is also a region in a recording (region_mark.hpp), so that memtoll names the lines
// that allocated.
//
// MEMTOLL_EXPECTATIONS is MEMTOLL_ON or MEMTOLL_OFF; without a word it is on unless NDEBUG is defined, as with assert. Off,
// the same code compiles: a scope is empty and costs nothing, its result is always as expected, and no handler is called.
// On, it costs a few nanoseconds.
//
// Thread safety: a scope counts what its own thread allocates, and must end on that thread. Scopes may nest. Nothing here
// throws or allocates. A handler may allocate, but not throw: a destructor calls it, and std::terminate would follow.
#pragma once

#include <memtoll/config.hpp>

#include <cstdint>

#ifndef MEMTOLL_EXPECTATIONS
#ifdef NDEBUG
#define MEMTOLL_EXPECTATIONS MEMTOLL_OFF
#else
#define MEMTOLL_EXPECTATIONS MEMTOLL_ON
#endif
#endif

#if MEMTOLL_USING(MEMTOLL_EXPECTATIONS)

#include <memtoll/detail/allocation_count.hpp>
#include <memtoll/region_mark.hpp>
#include <memtoll/text_writer.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>

// The two forms of a scope have different names for the linker, so that files of both kinds may be in one program.
namespace memtoll {
inline namespace expectations_on {

// What happened in a scope.
struct scope_allocations {
    const char* file; // where the scope is
    int line;
    const char* name; // null: it has none
    bool counted;     // false: not counted, and the rest is 0
    std::uint64_t expected; // at most
    std::uint64_t allocations;
    std::uint64_t bytes;

    // Whether all is as expected.
    explicit operator bool() const noexcept { return counted && allocations <= expected; }

    // A line that says all this: "level.cpp:12: frame: 3 allocations of 480 bytes together, at most 0 expected".
    const char* what() const noexcept { return text_; }

private:
    friend class expect_at_most;
    void describe() noexcept {
        text_writer out(text_, sizeof text_ - 1);
        out.append(file).append(':').append(line).append(": ");
        if (name) out.append(name).append(": ");
        if (counted)
            out.append(allocations).append(" allocations of ").append(bytes).append(" bytes together, at most ").append(expected).append(" expected");
        else out.append("allocations are not counted: include <memtoll/count_allocations.hpp> in one .cpp of the program");
        *out.position() = '\0';
    }
    char text_[512];
};

using unexpected_handler = void (*)(const scope_allocations&);

// Expects at most this number of allocations until it is destroyed.
class expect_at_most {
public:
    explicit expect_at_most(std::uint64_t allocations, const char* name = nullptr, const char* file = __builtin_FILE(),
                            int line = __builtin_LINE()) noexcept
        : expected_(allocations), name_(name), file_(file), line_(line), mark_(name),
          before_(detail::allocations_of_this_thread) {}
    expect_at_most(const expect_at_most&) = delete;
    expect_at_most& operator=(const expect_at_most&) = delete;
    ~expect_at_most() {
        if (ended_) return;
        scope_allocations result = found();
        if (result) return;
        result.describe();
        const detail::allocation_count before = detail::allocations_of_this_thread;
        handler_.load()(result);
        detail::allocations_of_this_thread = before;
    }

    // Ends the scope. The caller looks at the result; the handler is not called.
    [[nodiscard]] scope_allocations end() noexcept {
        scope_allocations result = found();
        mark_.end();
        ended_ = true;
        result.describe();
        return result;
    }

private:
    friend unexpected_handler on_unexpected_allocations(unexpected_handler) noexcept;
    static void print_and_abort(const scope_allocations& result) {
        std::fprintf(stderr, "%s\n", result.what());
        std::abort();
    }
    inline static std::atomic<unexpected_handler> handler_{print_and_abort};

    // All but the text.
    scope_allocations found() const noexcept {
        const detail::allocation_count now = detail::allocations_of_this_thread;
        scope_allocations result;
        result.file = file_;
        result.line = line_;
        result.name = name_;
        result.counted = detail::allocations_are_counted;
        result.expected = expected_;
        result.allocations = now.allocations - before_.allocations;
        result.bytes = now.bytes - before_.bytes;
        return result;
    }

    const std::uint64_t expected_;
    const char* const name_;
    const char* const file_;
    const int line_;
    bool ended_ = false;
    region_mark mark_;
    const detail::allocation_count before_; // last: what comes before it may allocate
};

// Expects none.
class expect_no_allocations : public expect_at_most {
public:
    explicit expect_no_allocations(const char* name = nullptr, const char* file = __builtin_FILE(),
                                   int line = __builtin_LINE()) noexcept
        : expect_at_most(0, name, file, line) {}
};

// From now on `handler` is called where a scope ends with more allocations than expected and its result was not asked for.
// Null: print and abort. Returns the one until now. What the handler itself allocates is not counted.
inline unexpected_handler on_unexpected_allocations(unexpected_handler handler) noexcept {
    return expect_at_most::handler_.exchange(handler ? handler : expect_at_most::print_and_abort);
}

} // namespace expectations_on
} // namespace memtoll

#else

namespace memtoll {
inline namespace expectations_off {

// All is as expected, because nothing is.
struct scope_allocations {
    const char* file = "";
    int line = 0;
    const char* name = nullptr;
    bool counted = false;
    std::uint64_t expected = 0;
    std::uint64_t allocations = 0;
    std::uint64_t bytes = 0;

    explicit operator bool() const noexcept { return true; }
    const char* what() const noexcept { return "allocations are not counted: MEMTOLL_EXPECTATIONS is off"; }
};

using unexpected_handler = void (*)(const scope_allocations&);
constexpr unexpected_handler on_unexpected_allocations(unexpected_handler) noexcept { return nullptr; }

// Nothing. The destructors tell the compiler that the scopes are used.
class expect_at_most {
public:
    explicit expect_at_most(std::uint64_t, const char* = nullptr, const char* = nullptr, int = 0) noexcept {}
    expect_at_most(const expect_at_most&) = delete;
    expect_at_most& operator=(const expect_at_most&) = delete;
    ~expect_at_most() {}

    [[nodiscard]] scope_allocations end() noexcept { return {}; }
};
class expect_no_allocations : public expect_at_most {
public:
    explicit expect_no_allocations(const char* = nullptr, const char* = nullptr, int = 0) noexcept : expect_at_most(0) {}
};

} // namespace expectations_off
} // namespace memtoll

#endif
