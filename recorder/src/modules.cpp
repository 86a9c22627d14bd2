#include "modules.hpp"

#include "dynamic_section.hpp"
#include "fnv.hpp"
#include "kernel.hpp"

#include <cstring>
#include <elf.h>
#include <link.h>

namespace memtoll {
namespace {

// Its memory counts against the limit on the program's data (RLIMIT_DATA), touched or not.
constexpr unsigned kMaxModules = 3072;

struct Entry {
    std::atomic<uint32_t> ready{0};
    uintptr_t start = 0;
    uintptr_t end = 0;
    uint32_t path_hash = 0;
    uint32_t identity_hash = 0;
};

// Number n is entries[n - 1]. Append only: a reader needs no lock. Zero as they are mapped: a constructor that said so would
// touch 24 pages in each process that starts.
constinit Entry entries[kMaxModules];
constinit std::atomic<uint32_t> entry_count{0};

uint32_t hash(const void* data, size_t bytes) {
    return Fnv<uint32_t>().add(static_cast<const uint8_t*>(data), bytes).hash();
}

void read_build_id(const uint8_t* at, const uint8_t* end, Module& module) {
    while (static_cast<size_t>(end - at) >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        const size_t name_bytes = (note.n_namesz + 3u) & ~size_t{3};
        const size_t data_bytes = (note.n_descsz + 3u) & ~size_t{3};
        at += sizeof note;
        if (name_bytes > static_cast<size_t>(end - at) || data_bytes > static_cast<size_t>(end - at) - name_bytes) return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(at, "GNU", 4) == 0) {
            module.build_id_bytes = note.n_descsz < sizeof module.build_id ? note.n_descsz : sizeof module.build_id;
            memcpy(module.build_id, at + name_bytes, module.build_id_bytes);
            return;
        }
        at += name_bytes + data_bytes;
    }
}

// What tells a file without a build id from another under the same name: its functions. Of many, the first ones. The
// supervisor finds the same in the file (functions_hash.rs).
uint32_t hash_functions(const Module& module) {
    constexpr size_t kMost = 4096;
    const uintptr_t begin = module.cfi.eh_frame_hdr, end = module.cfi.header_range.end;
    if (begin == 0 || begin >= end) return 0;
    return hash(reinterpret_cast<const void*>(begin), end - begin < kMost ? end - begin : kMost);
}

struct Lookup {
    uintptr_t address;
    uintptr_t start, end, bias;
    const char* path;
    bool found;
};

int match_object(dl_phdr_info* info, size_t, void* context) {
    auto& lookup = *static_cast<Lookup*>(context);
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        const uintptr_t start = info->dlpi_addr + segment.p_vaddr;
        if (start < low) low = start;
        if (start + segment.p_memsz > high) high = start + segment.p_memsz;
    }
    if (lookup.address < low || lookup.address >= high) return 0;
    lookup.start = low & ~(kernel::page_bytes() - 1);
    lookup.end = high;
    lookup.bias = info->dlpi_addr;
    lookup.path = info->dlpi_name;
    lookup.found = true;
    return 1;
}

// struct dl_find_object of <dlfcn.h>, which headers older than glibc 2.35 lack.
struct FoundObject {
    unsigned long long flags;
    void* map_start;
    void* map_end;
    link_map* object;
    void* eh_frame;
    unsigned long long reserved[7];
};
using FindObject = int(void* address, FoundObject* found);

int has_no_find_object(void*, FoundObject*) { return -1; }

// glibc's _dl_find_object, which finds the file of an address without a lock; earlier than 2.35 there is none. Looked for by
// its name: the recorder must load with C libraries that lack it.
FindObject* known_find_object() {
    static std::atomic<FindObject*> known{nullptr};
    FindObject* function = known.load(std::memory_order_relaxed);
    if (!function) {
        function = reinterpret_cast<FindObject*>(find_symbol("_dl_find_object", Where::kAnywhere));
        if (!function) function = has_no_find_object;
        known.store(function, std::memory_order_relaxed);
    }
    return function;
}

bool find_object(Lookup& lookup) {
    FindObject* const find = known_find_object();
    if (find == has_no_find_object) return dl_iterate_phdr(match_object, &lookup) != 0;
    FoundObject found;
    if (find(reinterpret_cast<void*>(lookup.address), &found) != 0) return false;
    // An executable with holes between its segments is found segment by segment, and only the first begins with the
    // file's header.
    if (memcmp(found.map_start, ELFMAG, SELFMAG) != 0) return dl_iterate_phdr(match_object, &lookup) != 0;
    lookup.start = reinterpret_cast<uintptr_t>(found.map_start);
    lookup.end = reinterpret_cast<uintptr_t>(found.map_end);
    lookup.bias = found.object->l_addr;
    lookup.path = found.object->l_name;
    return true;
}

} // namespace

bool describe_module(uintptr_t start, uintptr_t end, uintptr_t bias, const char* path, Module& module) {
    module = Module{};
    module.start = start;
    module.end = end;
    module.bias = bias;
    module.path = path;
    module.path_hash = path ? hash(path, strlen(path)) : 0;
    const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(start);
    if (end - start < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
    if (header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phoff > end - start ||
        header->e_phnum > (end - start - header->e_phoff) / sizeof(ElfW(Phdr)))
        return false;
    const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(start + header->e_phoff);
    auto loaded_around = [&](uintptr_t address) {
        for (unsigned i = 0; i < header->e_phnum; ++i) {
            const uintptr_t begin = bias + segments[i].p_vaddr;
            // Only what comes from the file: the rest of the segment may not be there yet.
            if (segments[i].p_type == PT_LOAD && (segments[i].p_flags & PF_R) && address - begin < segments[i].p_filesz)
                return unwind::Range{begin, begin + segments[i].p_filesz};
        }
        return unwind::Range{};
    };
    for (unsigned i = 0; i < header->e_phnum; ++i) {
        const ElfW(Phdr)& segment = segments[i];
        const uintptr_t at = bias + segment.p_vaddr;
        // The loader may only know where code ends.
        if (segment.p_type == PT_LOAD && at + segment.p_memsz > module.end) module.end = at + segment.p_memsz;
        if (segment.p_type == PT_NOTE && module.build_id_bytes == 0 && loaded_around(at).holds(at, segment.p_filesz)) {
            const auto* notes = reinterpret_cast<const uint8_t*>(at);
            read_build_id(notes, notes + segment.p_filesz, module);
        } else if (segment.p_type == PT_GNU_EH_FRAME && loaded_around(at).holds(at, 8)) {
            module.cfi.eh_frame_hdr = at;
            module.cfi.header_range = loaded_around(at);
            // .eh_frame's place stands in the header as a pc-relative sdata4 in everything that linkers write.
            int32_t offset;
            memcpy(&offset, reinterpret_cast<const void*>(at + 4), sizeof offset);
            module.cfi.frame_range = loaded_around(at + 4 + static_cast<uintptr_t>(intptr_t{offset}));
            if (module.cfi.frame_range.end == 0) module.cfi.frame_range = module.cfi.header_range;
        }
    }
    if (module.build_id_bytes == 0) module.functions_hash = hash_functions(module);
    return true;
}

uint16_t module_at(uintptr_t address, Module& found, AnnounceModule announce, void* context) {
    Lookup lookup{address, 0, 0, 0, nullptr, false};
    if (!find_object(lookup)) return kNoModule;
    if (!describe_module(lookup.start, lookup.end, lookup.bias, lookup.path, found)) return kNoModule;
    const uint32_t identity_hash =
        found.build_id_bytes > 0 ? hash(found.build_id, found.build_id_bytes) : found.functions_hash;
    const uint32_t known = entry_count.load(std::memory_order_acquire);
    // From the newest: after an unload, the file that is there now was met last.
    for (uint32_t i = known < kMaxModules ? known : kMaxModules; i-- > 0;) {
        const Entry& entry = entries[i];
        if (entry.ready.load(std::memory_order_acquire) && entry.start == found.start && entry.end == found.end &&
            entry.path_hash == found.path_hash && entry.identity_hash == identity_hash)
            return static_cast<uint16_t>(i + 1);
    }
    const uint32_t index = entry_count.fetch_add(1, std::memory_order_acq_rel);
    if (index >= kMaxModules) return kNoModule;
    Entry& entry = entries[index];
    entry.start = found.start;
    entry.end = found.end;
    entry.path_hash = found.path_hash;
    entry.identity_hash = identity_hash;
    const auto number = static_cast<uint16_t>(index + 1);
    announce(context, number, found);
    entry.ready.store(1, std::memory_order_release);
    return number;
}

uintptr_t start_of_file(uintptr_t address) {
    Lookup lookup{address, 0, 0, 0, nullptr, false};
    return find_object(lookup) ? lookup.start : 0;
}

void forget_modules() {
    const uint32_t known = entry_count.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < known && i < kMaxModules; ++i) entries[i].ready.store(0, std::memory_order_relaxed);
    entry_count.store(0, std::memory_order_relaxed);
}

} // namespace memtoll
