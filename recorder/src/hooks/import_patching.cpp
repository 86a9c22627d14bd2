#include "import_patching.hpp"

#include "../kernel.hpp"
#include "../dynamic_section.hpp"
#include "scope.hpp"

#include <cstring>
#include <elf.h>
#include <link.h>

// The hooks' addresses, under their second names (MEMTOLL_EVENT_HOOK), which say nothing to the compiler. Bound inside this
// library by -Bsymbolic.
#define EVENT(number, name, symbol, function, effect, type)                                                                   \
    extern "C" void memtoll_hook_of_overridden_##name() asm("memtoll_overridden_" symbol);
#include "hooks.def"

namespace memtoll {

namespace {

struct FileRange {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    bool contains(uintptr_t address) const { return address - begin < end - begin; }
};

struct Override {
    const char* symbol;
    uintptr_t hook;
    uintptr_t original;
};

constexpr unsigned kMaxOverrides = 64;
Override overrides[kMaxOverrides];
unsigned override_count = 0;

FileRange loader_file;
std::atomic<bool> patching{false};

// Where the executable's malloc goes on to the next one for the first time: what it is asked for is seen, after all.
void* (*malloc_after_executables)(size_t);
void* first_malloc_after_executables(size_t size) {
    session.arena->own_allocator.store(0, std::memory_order_relaxed);
    next.malloc = malloc_after_executables;
    return next.malloc(size);
}

void note_if_overridden(const Wanted& wanted, uintptr_t hook, void* entry) {
    if (!wanted.found || override_count == kMaxOverrides) return;
    const auto bound = reinterpret_cast<uintptr_t>(wanted.found);
    overrides[override_count++] = {wanted.name, hook, bound};
    memcpy(entry, &bound, sizeof bound);
}

void write_slot(const Dynamic& dynamic, uintptr_t slot, uintptr_t value) {
    const size_t bytes = kernel::page_bytes();
    const bool read_only = slot >= dynamic.relro_begin && slot < dynamic.relro_end;
    const long page = static_cast<long>(slot & ~(bytes - 1));
    if (read_only && kernel::failed(kernel::call(SYS_mprotect, page, static_cast<long>(bytes), PROT_READ | PROT_WRITE))) return;
    reinterpret_cast<std::atomic<uintptr_t>*>(slot)->store(value, std::memory_order_relaxed);
    if (read_only) kernel::call(SYS_mprotect, page, static_cast<long>(bytes), PROT_READ);
    session.arena->imports_patched.fetch_add(1, std::memory_order_relaxed);
}

void patch_table(const Dynamic& dynamic, const ElfW(Rela)* table, size_t bytes) {
    for (size_t i = 0; i < bytes / sizeof *table; ++i) {
        const ElfW(Rela)& entry = table[i];
        const auto type = ELF64_R_TYPE(entry.r_info);
        const auto index = ELF64_R_SYM(entry.r_info);
        if (index == 0 || entry.r_addend != 0 || !arch::is_pointer(type)) continue;
        const char* name = dynamic.strings + dynamic.symbols[index].st_name;
        for (unsigned k = 0; k < override_count; ++k) {
            if (strcmp(name, overrides[k].symbol) != 0) continue;
            const uintptr_t slot = dynamic.bias + entry.r_offset;
            const uintptr_t bound = *reinterpret_cast<const uintptr_t*>(slot);
            // Bound to the executable's function, or (a jump slot) not bound yet and thus still inside its own file.
            if (bound == overrides[k].original || (arch::is_jump_slot(type) && bound != overrides[k].hook))
                write_slot(dynamic, slot, overrides[k].hook);
        }
    }
}

// Whether `path` ends with this file name.
bool is_named(const char* path, const char* name) {
    const char* slash = strrchr(path, '/');
    return slash && strcmp(slash + 1, name) == 0;
}

int patch_file(dl_phdr_info* info, size_t, void*) {
    if (is_in_file(*info, reinterpret_cast<uintptr_t>(&patch_file))) return 0;
    // The loader calls the recorder's allocation functions through pointers of its own, which stay as they are.
    if (info->dlpi_name && is_named(info->dlpi_name, arch::kGlibcLoader)) return 0;
    if (info->dlpi_name && strncmp(info->dlpi_name, "linux-vdso", 10) == 0) return 0;
    Dynamic dynamic;
    if (!read_dynamic(*info, dynamic)) return 0;
    if (dynamic.relocations) patch_table(dynamic, dynamic.relocations, dynamic.relocation_bytes);
    if (dynamic.plt) patch_table(dynamic, dynamic.plt, dynamic.plt_bytes);
    return 0;
}

int read_load_counter(dl_phdr_info* info, size_t bytes, void* counter) {
    if (bytes >= offsetof(dl_phdr_info, dlpi_subs))
        *static_cast<unsigned long long*>(counter) = info->dlpi_adds;
    return 1;
}

uint64_t files_loaded() {
    unsigned long long count = 0;
    dl_iterate_phdr(read_load_counter, &count);
    return count;
}

// After a dlopen of this thread. Not while the loader is at work: it binds a file after it has counted it.
bool patch_new_files(ThreadState* state, const arch::CallerFrame& caller) {
    if (loader_file.contains(caller.return_address)) return false;
    if (files_loaded() == state->loaded_before) return true; // it was there already, or is nowhere
    if (patching.exchange(true, std::memory_order_acquire)) return false;
    dl_iterate_phdr(patch_file, nullptr);
    patching.store(false, std::memory_order_release);
    return true;
}

struct RangeSearch {
    uintptr_t address;
    FileRange found;
};

int search_range(dl_phdr_info* info, size_t, void* argument) {
    auto& search = *static_cast<RangeSearch*>(argument);
    if (!is_in_file(*info, search.address)) return 0;
    search.found.begin = UINTPTR_MAX;
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        const uintptr_t begin = info->dlpi_addr + segment.p_vaddr, end = begin + segment.p_memsz;
        if (begin < search.found.begin) search.found.begin = begin;
        if (end > search.found.end) search.found.end = end;
    }
    return 1;
}

// Where the file that contains `address` is mapped.
FileRange file_around(uintptr_t address) {
    RangeSearch search{address, {}};
    dl_iterate_phdr(search_range, &search);
    return search.found;
}

} // namespace

void patch_imports_if_overridden() {
    // What is loaded after the recorder cannot be what a name is bound to: the recorder defines them all.
    constexpr char kNames[] =
#define EVENT(number, name, symbol, function, effect, type) symbol "\0"
#include "hooks.def"
        ;
    constexpr unsigned kCount = 0
#define EVENT(number, name, symbol, function, effect, type) +1
#include "hooks.def"
        ;
    Wanted all[kCount];
    find_symbols(kNames, all, kCount, Where::kBeforeRecorder);
    const Wanted* one = all;
#define EVENT(number, name, symbol, function, effect, type)                                                                   \
    note_if_overridden(*one++, reinterpret_cast<uintptr_t>(&memtoll_hook_of_overridden_##name), &overridden.name);
#include "hooks.def"
    if (override_count == 0) return;
    if (overridden.malloc != next.malloc) {
        session.arena->own_allocator.store(1, std::memory_order_relaxed);
        malloc_after_executables = next.malloc;
        next.malloc = first_malloc_after_executables;
    }
    loader_file = file_around(reinterpret_cast<uintptr_t>(find_symbol("__tls_get_addr", Where::kAnywhere)));
    dl_iterate_phdr(patch_file, nullptr);
    on_load = patch_new_files;
}

void expect_new_imports(ThreadState* state) {
    if (on_load) expect_load(state, files_loaded());
}

} // namespace memtoll
