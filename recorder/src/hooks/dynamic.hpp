// The dynamic section of a loaded file: its symbols and its relocations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <link.h>

namespace memtoll {

struct Dynamic {
    uintptr_t bias = 0; // address in memory minus address in the file
    const ElfW(Sym)* symbols = nullptr;
    const char* strings = nullptr;
    const uint16_t* versions = nullptr; // one for each symbol; null: none has a version
    const uint32_t* gnu_hash = nullptr;
    const uint32_t* hash = nullptr;
    const ElfW(Rela)* relocations = nullptr;
    size_t relocation_bytes = 0;
    const ElfW(Rela)* plt = nullptr;
    size_t plt_bytes = 0;
    uintptr_t relro_begin = 0; // read-only after relocation
    uintptr_t relro_end = 0;
};

// False for a file without a symbol table.
bool read_dynamic(const dl_phdr_info& info, Dynamic& out);

// Whether `address` lies in the file.
bool is_in_file(const dl_phdr_info& info, uintptr_t address);

// The file's own definition of `name` in its default version. Null if there is none.
void* defined_symbol(const Dynamic& dynamic, const char* name);

// The first definition of `name` in the order of loading: in any file, or in those that come after the recorder. Unlike
// dlsym it never allocates, not even to say that there is none: an allocator's own mmap may have brought us here.
enum class Where { kAnywhere, kAfterRecorder };
void* find_symbol(const char* name, Where where);

} // namespace memtoll
