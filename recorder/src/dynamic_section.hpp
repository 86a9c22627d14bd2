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
    const ElfW(Dyn)* entries = nullptr; // up to DT_NULL
    const char* own_name = nullptr; // what others need it by
    size_t constructors_bytes = 0; // of DT_INIT_ARRAY
    uintptr_t relro_begin = 0; // read-only after relocation
    uintptr_t relro_end = 0;
};

// False for a file without a symbol table.
bool read_dynamic(const dl_phdr_info& info, Dynamic& out);

// Whether `address` lies in the file.
bool is_in_file(const dl_phdr_info& info, uintptr_t address);

// Whether the loader knows the file as `name`: by its file name or by what it calls itself.
bool is_called(const dl_phdr_info& info, const Dynamic& dynamic, const char* name);

// A name to look for.
struct Wanted {
    const char* name = nullptr;
    uint32_t hash = 0; // that of DT_GNU_HASH
    void* found = nullptr;
    size_t bytes = 0; // of what was found
};

// The hash of a name.
uint32_t hash_of(const char* name);

// The file's own definition. Null if there is none.
void* definition(const Dynamic& dynamic, const Wanted& wanted);
// The same, with its size.
bool find_definition(const Dynamic& dynamic, Wanted& wanted);

// Which files are searched: all, or those that are loaded before or after the recorder.
enum class Where { kAnywhere, kBeforeRecorder, kAfterRecorder };

// The recorder was loaded by a running program, behind all others. Then all of them count as loaded after it.
extern bool loaded_late;

// The first definition of a name in the order of loading, in its default version. Null if there is none. Unlike dlsym it
// never allocates, not even to say that there is none: an allocator's own mmap may have brought us here.
void* find_symbol(const char* name, Where where);

// The same for `count` names in one pass over the files. `names`: one after the other, each with its closing null, because
// pointers to them would have to be relocated in each process. Their order is that of `wanted`, which need not be filled in.
void find_symbols(const char* names, Wanted* wanted, size_t count, Where where);

} // namespace memtoll
