#include "import_patching.hpp"

#include "../dynamic_section.hpp"
#include "../kernel.hpp"
#include "../namespaces.hpp"
#include "own_allocators.hpp"
#include "scope.hpp"

#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

// The rows of stubs (MEMTOLL_STUBS). Under other names, which say nothing to the compiler.
#define EVENT(number, name, symbol, function, effect, type)                                                                   \
    extern "C" __attribute__((visibility("hidden"))) const char memtoll_row_##name[] asm("memtoll_stubs_" symbol);
#include "hooks.def"
extern "C" __attribute__((visibility("hidden"))) const char memtoll_row_dlopen[] asm("memtoll_stubs_dlopen");
extern "C" __attribute__((visibility("hidden"))) const char memtoll_row_dlmopen[] asm("memtoll_stubs_dlmopen");
extern "C" __attribute__((visibility("hidden"))) const char memtoll_row_dlclose[] asm("memtoll_stubs_dlclose");
extern "C" __attribute__((visibility("hidden"))) const char memtoll_row_dlsym[] asm("memtoll_stubs_dlsym");

namespace memtoll {

namespace {

struct FileRange {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    bool contains(uintptr_t address) const { return address - begin < end - begin; }
};

// A function that the recorder hooks.
struct Hooked {
    Wanted wanted; // `found`: the recorder's hook
    size_t place = 0; // in Next, bytes
    const char* stubs = nullptr;
    unsigned tables = 0; // that its stubs are for

    void*& entry(Next& table) const {
        return *reinterpret_cast<void**>(reinterpret_cast<char*>(&table) + place);
    }
    uintptr_t stub(unsigned table) const { return reinterpret_cast<uintptr_t>(stubs) + table * arch::kStubBytes; }
};

constexpr unsigned kHooked = 0
#define HOOK(name, symbol, type) +1
#include "hooks.def"
    ;

// Filled in before the first file is patched: in most processes none is, and pointers here would have to be relocated in each.
constinit Hooked hooked[kHooked] = {};
constinit std::atomic<bool> hooked_is_known{false};
constinit FileRange loader_file, own_file;
constinit FileRange dlopen_file; // the C library, or the one beside it that has dlopen
constinit bool executable_overrides = false;
// Among that are functions whose calls count: not only pthread_create, whose threads are seen anyway.
constinit bool executable_overrides_memory = false;

FileRange range_of(const dl_phdr_info& info) {
    FileRange range{UINTPTR_MAX, 0};
    for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info.dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        const uintptr_t begin = info.dlpi_addr + segment.p_vaddr, end = begin + segment.p_memsz;
        if (begin < range.begin) range.begin = begin;
        if (end > range.end) range.end = end;
    }
    return range;
}

struct RangeSearch {
    uintptr_t address;
    FileRange found;
    Dynamic dynamic;
};

int search_range(dl_phdr_info* info, size_t, void* argument) {
    auto& search = *static_cast<RangeSearch*>(argument);
    if (!is_in_file(*info, search.address)) return 0;
    search.found = range_of(*info);
    read_dynamic(*info, search.dynamic);
    return 1;
}

// Threads that come here at the same time write the same.
void know_hooked() {
    if (hooked_is_known.load(std::memory_order_acquire)) return;
    RangeSearch own{reinterpret_cast<uintptr_t>(&know_hooked), {}, {}};
    dl_iterate_phdr(search_range, &own);
    own_file = own.found;
    RangeSearch loader{reinterpret_cast<uintptr_t>(find_symbol("__tls_get_addr", Where::kAnywhere)), {}, {}};
    dl_iterate_phdr(search_range, &loader);
    loader_file = loader.found;
    RangeSearch with_dlopen{reinterpret_cast<uintptr_t>(next.dlopen), {}, {}};
    if (next.dlopen) dl_iterate_phdr(search_range, &with_dlopen);
    dlopen_file = with_dlopen.found;
    unsigned index = 0;
    const auto add = [&](const char* name, size_t place, const char* stubs, unsigned with_stubs) {
        Hooked& of = hooked[index++];
        of = {{name, hash_of(name)}, place, stubs, with_stubs};
        of.wanted.found = definition(own.dynamic, of.wanted);
    };
#define EVENT(number, name, symbol, function, effect, type)                                                                   \
    add(symbol, offsetof(Next, name), memtoll_row_##name, k_##name == k_mmap || k_##name == k_mmap64 ? 1 : MEMTOLL_TABLES);
#define SILENT(name, symbol, type) add(symbol, offsetof(Next, name), nullptr, 0);
#include "hooks.def"
    for (Hooked& of : hooked) {
        const auto has = [&](const char* name, const char* stubs) {
            if (strcmp(of.wanted.name, name) == 0) of.stubs = stubs, of.tables = MEMTOLL_TABLES;
        };
        has("dlopen", memtoll_row_dlopen);
        has("dlmopen", memtoll_row_dlmopen);
        has("dlclose", memtoll_row_dlclose);
        has("dlsym", memtoll_row_dlsym);
    }
    hooked_is_known.store(true, std::memory_order_release);
}

const Hooked* find_hooked(const char* name) {
    const uint32_t hash = hash_of(name);
    for (const Hooked& of : hooked)
        if (of.wanted.hash == hash && strcmp(of.wanted.name, name) == 0) return &of;
    return nullptr;
}

// -- tables ----------------------------------------------------------------------------------------------------------

constexpr unsigned kNoSpace = UINT32_MAX;
// Of each table, the namespace of the files that use it.
constinit unsigned space_of_table[MEMTOLL_TABLES] = {};
constinit unsigned tables_used = 1;

// The hook that goes on to `target`; 0: there is no table for it.
uintptr_t hook_for(const Hooked& of, uintptr_t target, unsigned space) {
    const auto function = reinterpret_cast<void*>(target);
    if (of.entry(next) == function) return reinterpret_cast<uintptr_t>(of.wanted.found);
    for (unsigned i = 0; i < tables_used && i < of.tables; ++i)
        if (of.entry(tables[i]) == function) return of.stub(i);
    // Before the number of the table is found anywhere.
    for (unsigned i = 1; i < of.tables; ++i) {
        if (i == tables_used) space_of_table[tables_used++] = kNoSpace;
        if (space_of_table[i] == kNoSpace) space_of_table[i] = space;
        if (space_of_table[i] != space || of.entry(tables[i])) continue;
        of.entry(tables[i]) = function;
        std::atomic_thread_fence(std::memory_order_release);
        return of.stub(i);
    }
    return 0;
}

// Whether an address is in one of the files.
bool is_loaded(const LoadedFiles& all, uintptr_t address) {
    for (const LoadedFile& file : all)
        if (is_in_file(file.info, address)) return true;
    return false;
}

// Tables of files that are gone are free again.
void drop_tables(const LoadedFiles& all) {
    for (unsigned i = 1; i < tables_used; ++i) {
        bool is_used = false;
        for (const Hooked& of : hooked) {
            void*& entry = of.entry(tables[i]);
            if (entry && !is_loaded(all, reinterpret_cast<uintptr_t>(entry))) entry = nullptr;
            is_used |= entry != nullptr;
        }
        if (!is_used) space_of_table[i] = kNoSpace;
    }
    while (tables_used > 1 && space_of_table[tables_used - 1] == kNoSpace) --tables_used;
}

// -- files -----------------------------------------------------------------------------------------------------------

// The files in which the names of another one are looked for, in their order.
struct Scope {
    static constexpr unsigned kMost = 512;
    const LoadedFile* files[kMost] = {};
    unsigned count = 0;

    bool has(const LoadedFile* file) const {
        for (unsigned i = 0; i < count; ++i)
            if (files[i] == file) return true;
        return false;
    }
    void add(const LoadedFile* file) {
        if (count < kMost && !has(file)) files[count++] = file;
    }
    void* find(const Wanted& wanted) const {
        for (unsigned i = 0; i < count; ++i) {
            Dynamic dynamic;
            void* found = read_dynamic(files[i]->info, dynamic) ? definition(dynamic, wanted) : nullptr;
            if (found) return found;
        }
        return nullptr;
    }
};

const LoadedFile* file_called(const LoadedFiles& all, unsigned space, const char* name) {
    for (const LoadedFile& file : all) {
        Dynamic dynamic;
        if (file.space == space && read_dynamic(file.info, dynamic) && is_called(file.info, dynamic, name)) return &file;
    }
    return nullptr;
}

// That of a library and its libraries, breadth first: what is looked through first with RTLD_DEEPBIND.
void fill_own_scope(Scope& scope, const LoadedFiles& all, const LoadedFile& library) {
    scope.add(&library);
    for (unsigned i = 0; i < scope.count; ++i) {
        Dynamic dynamic;
        if (!read_dynamic(scope.files[i]->info, dynamic)) continue;
        for (const ElfW(Dyn)* entry = dynamic.entries; entry->d_tag != DT_NULL; ++entry) {
            if (entry->d_tag != DT_NEEDED) continue;
            const LoadedFile* needed = file_called(all, library.space, dynamic.strings + entry->d_un.d_val);
            if (needed) scope.add(needed);
        }
    }
}

// Files whose import tables were patched after their constructors had run.
struct Late {
    static constexpr unsigned kMost = 4, kPath = 256;
    char paths[kMost][kPath];
    unsigned count = 0;

    void add(const char* path) {
        const size_t bytes = path ? strlen(path) : 0;
        if (bytes == 0 || bytes >= kPath || count == kMost) return;
        memcpy(paths[count++], path, bytes + 1);
    }
};

struct Patching {
    const LoadedFiles& all;
    const LoadedFile& file;
    const Scope* scope; // of its names that are not bound yet; null: the program's
    Dynamic dynamic;
    FileRange range;
    unsigned patched = 0;
    unsigned not_patched = 0;

    void write(uintptr_t slot, uintptr_t value) {
        const size_t bytes = kernel::page_bytes();
        // What is read-only after relocation may not be so yet: another thread's loader may be at work on the page.
        const bool may_be_read_only = slot >= dynamic.relro_begin && slot < dynamic.relro_end;
        const bool read_only = may_be_read_only && !kernel::write_if_allowed(slot, value);
        const long page = static_cast<long>(slot & ~(bytes - 1));
        if (read_only &&
            kernel::failed(kernel::call(SYS_mprotect, page, static_cast<long>(bytes), PROT_READ | PROT_WRITE))) {
            ++not_patched;
            return;
        }
        reinterpret_cast<std::atomic<uintptr_t>*>(slot)->store(value, std::memory_order_release);
        if (read_only) kernel::call(SYS_mprotect, page, static_cast<long>(bytes), PROT_READ);
        ++patched;
    }

    // What the loader will bind, where it has not yet. 0: what the recorder exports.
    uintptr_t will_be_bound(const Hooked& of) const {
        if (scope) return reinterpret_cast<uintptr_t>(scope->find(of.wanted));
        void* const executables = of.entry(overridden);
        return executables == of.entry(next) ? 0 : reinterpret_cast<uintptr_t>(executables);
    }

    void patch(const Hooked& of, uintptr_t slot, bool is_jump_slot) {
        const uintptr_t bound = *reinterpret_cast<const uintptr_t*>(slot);
        if (own_file.contains(bound)) return;
        const auto own = reinterpret_cast<uintptr_t>(definition(dynamic, of.wanted));
        // A jump slot that is not bound yet leads back into its own file.
        const bool is_open = is_jump_slot && range.contains(bound) && bound != own;
        const uintptr_t target = is_open ? will_be_bound(of) : bound;
        if (target == 0 || own_file.contains(target)) return;
        // Not relocated yet: another thread's loader is at work on the file, and that thread looks at it afterwards.
        if (!is_loaded(all, target)) return;
        if (original_of(reinterpret_cast<void*>(target))) return; // all its calls come through its own hook
        // A library may call itself through its table. In a namespace of its own, that is also the C library.
        if (target == own && file.space == 0) return;
        const uintptr_t hook = hook_for(of, target, file.space);
        if (hook) write(slot, hook);
        else if (of.tables) ++not_patched;
    }

    void patch(const ElfW(Rela)* table, size_t bytes) {
        for (size_t i = 0; i < bytes / sizeof *table; ++i) {
            const ElfW(Rela)& entry = table[i];
            const auto type = ELF64_R_TYPE(entry.r_info);
            const auto index = ELF64_R_SYM(entry.r_info);
            if (index == 0 || entry.r_addend != 0 || !arch::is_pointer(type)) continue;
            if (const Hooked* of = find_hooked(dynamic.strings + dynamic.symbols[index].st_name))
                patch(*of, dynamic.bias + entry.r_offset, arch::is_jump_slot(type));
        }
    }
};

// Whether `path` ends with this file name.
bool is_named(const char* path, const char* name) {
    const char* slash = strrchr(path, '/');
    return slash && strcmp(slash + 1, name) == 0;
}

void patch_file(const LoadedFiles& all, const LoadedFile& file, const Scope* scope, Late* late) {
    const char* path = file.info.dlpi_name;
    if (is_in_file(file.info, reinterpret_cast<uintptr_t>(&patch_file))) return;
    // The loader calls the recorder's allocation functions through pointers of its own, which stay as they are.
    if (path && is_named(path, arch::kGlibcLoader)) return;
    if (path && strncmp(path, "linux-vdso", 10) == 0) return;
    Patching patching{all, file, scope, {}, range_of(file.info)};
    if (!read_dynamic(file.info, patching.dynamic)) return;
    if (patching.dynamic.relocations) patching.patch(patching.dynamic.relocations, patching.dynamic.relocation_bytes);
    if (patching.dynamic.plt) patching.patch(patching.dynamic.plt, patching.dynamic.plt_bytes);
    session.arena->imports_patched.fetch_add(patching.patched, std::memory_order_relaxed);
    session.arena->imports_not_patched.fetch_add(patching.not_patched, std::memory_order_relaxed);
    // What compilers put into each library is one constructor, which allocates nothing.
    const bool has_constructors = patching.dynamic.constructors_bytes > sizeof(void*);
    const Wanted of_c_library{"__libc_start_main", hash_of("__libc_start_main")};
    if (late && patching.patched > 0 && has_constructors && !definition(patching.dynamic, of_c_library)) late->add(path);
}

// Patches what has been loaded since `before` files had been: `library` and what it needs; null: what came first. And all that is in
// other namespaces.
void patch_loaded(const LoadedFiles& all, unsigned long long before, int mode, const void* library, Late& late) {
    if (tables_used == MEMTOLL_TABLES) drop_tables(all);
    static constinit Scope scope; // of the loader's lock
    scope.count = 0;
    unsigned in_first = 0;
    while (in_first < all.count && all.files[in_first].space == 0) ++in_first;
    // The loader appends what it loads. Some of it may be gone again: then older files are among these, too.
    const unsigned long long added = all.added - before;
    const unsigned first_new = added < in_first ? in_first - static_cast<unsigned>(added) : 0;
    if (mode & RTLD_DEEPBIND) {
        unsigned root = first_new;
        while (library && root < in_first && all.files[root].map != library) ++root;
        if (root < in_first) fill_own_scope(scope, all, all.files[root]);
    }
    for (unsigned i = first_new; i < in_first; ++i) {
        const LoadedFile& file = all.files[i];
        const bool is_deep = scope.has(&file);
        if (is_deep || executable_overrides)
            patch_file(all, file, is_deep ? &scope : nullptr, is_deep ? &late : nullptr);
    }
    for (unsigned space = 1; all.count > 0 && space <= all.files[all.count - 1].space; ++space) {
        scope.count = 0;
        for (const LoadedFile& file : all)
            if (file.space == space) scope.add(&file);
        for (const LoadedFile& file : all)
            if (file.space == space) patch_file(all, file, &scope, &late);
    }
}

[[gnu::noinline]] void tell_late(arch::HookFrame frame, const Late& late) {
    for (unsigned i = 0; i < late.count; ++i) {
        HookScope scope(frame);
        if (!scope) return;
        scope.no_call();
        append_blob(scope.log(), wire::kLateFile, nullptr, 0, late.paths[i], strlen(late.paths[i]));
    }
}

void patch_new(unsigned long long before, int mode, const void* library, Late& late) {
    know_hooked();
    const auto patch = [&](const LoadedFiles& all) { patch_loaded(all, before, mode, library, late); };
    if (with_loaded_files(patch)) return;
    const bool calls_are_missed = executable_overrides_memory || (mode & RTLD_DEEPBIND) || tables_used > 1;
    session.arena->imports_not_patched.fetch_add(calls_are_missed, std::memory_order_relaxed);
}

// Where the executable's malloc goes on to the next one for the first time: what it is asked for is seen, after all.
void* (*malloc_after_executables)(size_t);
void* first_malloc_after_executables(size_t size) {
    session.arena->own_allocator.store(0, std::memory_order_relaxed);
    next.malloc = malloc_after_executables;
    return next.malloc(size);
}

// With the next event of a thread that loads. Not while the loader is at work: it binds a file after it has counted it.
bool patch_after_load(ThreadState* state, const arch::CallerFrame& caller) {
    if (loader_file.contains(caller.return_address)) return false;
    if (files_loaded() == state->loaded_before) {
        // It was there already, or is nowhere; or dlopen has not come that far, and lets go of an earlier error's message.
        return !dlopen_file.contains(caller.return_address);
    }
    state->log.waited += redirect_own_allocators();
    if (!state->load_binds_elsewhere) return true;
    Late late;
    patch_new(state->loaded_before, state->load_mode, nullptr, late);
    return true;
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
    // Operators alone call malloc, and may return a part of its block: what they get and give back is recorded there, whoever
    // calls them. Only with malloc itself are they all that can be seen.
    const bool has_malloc = all[k_malloc - 1].found;
    const auto note = [&](const Wanted& wanted, void* entry, Effect effect) {
        const bool is_operator = strncmp(wanted.name, "_Z", 2) == 0;
        if (!wanted.found || (is_operator && !has_malloc)) return;
        // All calls of a redirected function come through its hook.
        void* const original = original_of(wanted.found);
        memcpy(entry, original ? &original : &wanted.found, sizeof original);
        executable_overrides |= !original;
        executable_overrides_memory |= !original && effect != Effect::THREAD;
    };
    const Wanted* one = all;
#define EVENT(number, name, symbol, function, effect, type) note(*one++, &overridden.name, Effect::effect);
#include "hooks.def"
    if (!executable_overrides) return;
    if (overridden.malloc != next.malloc && !original_of(all[k_malloc - 1].found)) {
        session.arena->own_allocator.store(1, std::memory_order_relaxed);
        malloc_after_executables = next.malloc;
        next.malloc = first_malloc_after_executables;
    }
    Late late;
    patch_new(0, 0, nullptr, late);
}

bool may_bind_elsewhere(int mode, bool in_namespace) {
    return executable_overrides || in_namespace || (mode & RTLD_DEEPBIND) || tables_used > 1;
}

Load begin_load(int mode) { return {files_loaded(), mode}; }

void end_load(const Load& load, const void* library, bool in_namespace) {
    if (session.state.load(std::memory_order_acquire) != Session::kRecording) return;
    redirect_own_allocators();
    Late late;
    patch_new(load.before, load.mode, library, late);
    if (in_namespace) {
        // The handle is what the loader knows the library by.
        bool is_known = false;
        with_loaded_files([&](const LoadedFiles& all) {
            for (const LoadedFile& file : all) is_known |= file.map == library;
        });
        if (!is_known) session.arena->namespaces_unknown.fetch_add(1, std::memory_order_relaxed);
    }
    tell_late(MEMTOLL_FRAME(), late);
}

void expect_new_files(ThreadState* state, const Load& load, bool binds_elsewhere) {
    know_hooked();
    on_load = patch_after_load;
    state->load_binds_elsewhere = binds_elsewhere || (state->loads && state->load_binds_elsewhere);
    state->load_mode = load.mode;
    expect_load(state, load.before);
}

} // namespace memtoll
