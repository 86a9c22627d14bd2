#include "namespaces.hpp"

#include "arch/arch.hpp"
#include "dynamic_section.hpp"
#include "kernel.hpp"
#include "modules.hpp"

#include <cstring>
#include <elf.h>

namespace memtoll {
namespace {

// struct r_debug_extended of <link.h>, which older headers lack.
struct Spaces {
    r_debug files;
    Spaces* next; // of version 2 and later
};
constexpr int kHasNext = 2;

// Of a process with more, the last ones are missing. Room for them is taken for as long as it is used: programs have limits.
constexpr unsigned kMost = 2048;
constexpr size_t kRoom = kMost * sizeof(LoadedFile);

struct Gathering {
    void (*use)(const LoadedFiles&, void*);
    void* context;
    LoadedFile* files;
    const Spaces* spaces = nullptr;
    const link_map* next = nullptr; // in the program's namespace
    unsigned count = 0;

    void add(const LoadedFile& file) {
        if (count < kMost) files[count++] = file;
    }
};

// What the loader tells debuggers. It stands in the executable.
const Spaces* spaces(const dl_phdr_info& executable) {
    for (unsigned i = 0; i < executable.dlpi_phnum; ++i) {
        if (executable.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
        const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(executable.dlpi_addr + executable.dlpi_phdr[i].p_vaddr);
        for (; entry->d_tag != DT_NULL; ++entry)
            if (entry->d_tag == DT_DEBUG) return reinterpret_cast<const Spaces*>(entry->d_un.d_ptr);
    }
    return nullptr;
}

// The segments of a library, from its own header.
bool read_segments(const link_map& map, dl_phdr_info& info) {
    const uintptr_t start = start_of_file(reinterpret_cast<uintptr_t>(map.l_ld));
    const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(start);
    if (start == 0 || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phentsize != sizeof(ElfW(Phdr)) ||
        header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr)) > kernel::page_bytes())
        return false;
    info.dlpi_addr = map.l_addr;
    info.dlpi_name = map.l_name;
    info.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(start + header->e_phoff);
    info.dlpi_phnum = header->e_phnum;
    return true;
}

int read_load_counter(dl_phdr_info* info, size_t bytes, void* counter) {
    if (bytes >= offsetof(dl_phdr_info, dlpi_subs)) *static_cast<unsigned long long*>(counter) = info->dlpi_adds;
    return 1;
}

void gather_other_spaces(Gathering& all) {
    const Spaces* space = all.spaces;
    for (unsigned number = 1; (space = space->files.r_version >= kHasNext ? space->next : nullptr); ++number) {
        for (const link_map* map = space->files.r_map; map; map = map->l_next) {
            LoadedFile file{{}, map, number};
            if (read_segments(*map, file.info)) all.add(file);
        }
    }
}

// The loader tells of the files of the program's namespace one by one, and holds its lock until it has told of all.
int gather(dl_phdr_info* info, size_t bytes, void* argument) {
    auto& all = *static_cast<Gathering*>(argument);
    if (!all.spaces) {
        all.spaces = spaces(*info);
        if (!all.spaces) return 1;
        all.next = all.spaces->files.r_map;
    }
    const link_map* map = all.next;
    while (map && (map->l_addr != info->dlpi_addr || map->l_name != info->dlpi_name)) map = map->l_next;
    if (!map) return 0;
    all.add({*info, map, 0});
    all.next = map->l_next;
    if (all.next) return 0;
    gather_other_spaces(all);
    unsigned long long added = 0;
    read_load_counter(info, bytes, &added);
    all.use({all.files, all.count, added}, all.context);
    return 1;
}

} // namespace

MEMTOLL_ALIGNS_STACK bool with_loaded_files(void (*use)(const LoadedFiles&, void*), void* context) {
    void* const room = kernel::map_private(kRoom);
    if (!room) return false;
    Gathering all{use, context, static_cast<LoadedFile*>(room)};
    dl_iterate_phdr(gather, &all);
    kernel::unmap(room, kRoom);
    return true;
}

MEMTOLL_ALIGNS_STACK unsigned long long files_loaded() {
    unsigned long long count = 0;
    dl_iterate_phdr(read_load_counter, &count);
    return count;
}

} // namespace memtoll
