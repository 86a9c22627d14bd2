// The loaded files (modules) that code addresses belong to, numbered as they are first met.
//
// A module's number stands for one file at one place: when a library is unloaded and another takes its addresses, the
// newcomer gets a number of its own, so that stacks recorded earlier keep naming the right one.
#pragma once

#include "unwind/cfi.hpp"

#include <atomic>
#include <cstdint>

namespace memtoll {

struct Module {
    uintptr_t start = 0;
    uintptr_t end = 0;
    uintptr_t bias = 0; // address in memory minus address in the file
    const char* path = nullptr; // the loader's; only valid while the module is loaded
    unwind::CfiSections cfi;
    uint8_t build_id[32] = {};
    uint32_t build_id_bytes = 0;
    uint32_t path_hash = 0;
    uint32_t functions_hash = 0; // of a file without a build id: of the first functions that it has unwinding rules for
};

inline constexpr uint16_t kNoModule = 0; // code that no file was loaded for (JIT)

// The module's number for `address`, with its description in `found`, or kNoModule. Two threads that meet a module at
// the same time may number it twice; both numbers then name the same file.
// `announce` is called with a new module before its number is used.
using AnnounceModule = void (*)(void* context, uint16_t number, const Module& module);
uint16_t module_at(uintptr_t address, Module& found, AnnounceModule announce, void* context);

// Where the file is mapped that holds `address`, with its header; 0: none does.
uintptr_t start_of_file(uintptr_t address);

// Forgets all numbers; in a forked child, whose supervisor knows none of them.
void forget_modules();

// Describes the file loaded at [start, end) from its own headers: also used by tests.
bool describe_module(uintptr_t start, uintptr_t end, uintptr_t bias, const char* path, Module& module);

} // namespace memtoll
