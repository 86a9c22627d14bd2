// Allocators that no import table leads to: inside the executable, or in a library that binds its own functions.
//
// The supervisor finds their functions by name and makes a plan (wire::PlanHeader): for each function a stub near it, which
// brings the address of a wire::Redirected along and jumps to one of the hooks here, and a copy of the function's first
// instructions, which goes on behind them. The recorder maps the stubs and puts a jump to each over those instructions. So
// whoever calls the function, through a table, a pointer or directly, comes through its hook.
//
// What was placed stays for as long as the process lives: the hooks only forward when recording is over.
#pragma once

#include "../wire.hpp"

#include <cstddef>
#include <cstdint>

namespace memtoll {

// Redirects what is loaded now and is not redirected yet. How long it waited for the supervisor's plan, in ticks.
uint64_t redirect_own_allocators();

// What a preloaded recorder interposes, in a process that was running when the recorder was loaded.
struct Interposing {
    const wire::Interposed* functions = nullptr;
    size_t count = 0;
};
// Maps what all redirected functions need, these here, too. The supervisor writes the jumps, when all threads stand still.
uint64_t prepare_redirections(const Interposing& interposing);

// The loader has finished with a recorder that memtoll attach has brought: it is at work until memtoll_recorder_attach returns.
void expect_attach();

// What does as a redirected function did before; null: it is not redirected.
void* original_of(const void* function);

} // namespace memtoll
