#include "dynamic_section.hpp"

#include "arch/arch.hpp"
#include "kernel.hpp"

#include <cstring>
#include <elf.h>

namespace memtoll {
namespace {

// One of the symbols that the file defines for others to use, in its default version?
bool is_definition(const Dynamic& dynamic, uint32_t index, const char* name) {
    const ElfW(Sym)& symbol = dynamic.symbols[index];
    const auto type = ELF64_ST_TYPE(symbol.st_info);
    constexpr uint16_t kHiddenVersion = 0x8000;
    return symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
           !(dynamic.versions && (dynamic.versions[index] & kHiddenVersion)) &&
           strcmp(dynamic.strings + symbol.st_name, name) == 0;
}

uint32_t find_by_gnu_hash(const Dynamic& dynamic, const Wanted& wanted) {
    const uint32_t bucket_count = dynamic.gnu_hash[0], first = dynamic.gnu_hash[1], words = dynamic.gnu_hash[2];
    if (bucket_count == 0 || words == 0) return 0;
    // Two bits of a word say, for nearly all names that the file does not define, that it does not.
    const auto* filter = reinterpret_cast<const uint64_t*>(dynamic.gnu_hash + 4);
    const uint32_t hash = wanted.hash, other = hash >> dynamic.gnu_hash[3];
    const uint64_t word = filter[hash / 64 & (words - 1)];
    if ((word >> hash % 64 & word >> other % 64 & 1) == 0) return 0;
    const auto* buckets = reinterpret_cast<const uint32_t*>(filter + words);
    const uint32_t* chain = buckets + bucket_count;
    uint32_t index = buckets[hash % bucket_count];
    if (index < first) return 0;
    for (;; ++index) {
        const uint32_t entry = chain[index - first];
        if ((entry | 1) == (hash | 1) && is_definition(dynamic, index, wanted.name)) return index;
        if (entry & 1) return 0;
    }
}

// Files with the old kind of hash table are few: looked through from end to end, it only gives their number of symbols.
uint32_t find_by_search(const Dynamic& dynamic, const char* name) {
    const uint32_t count = dynamic.hash[1];
    for (uint32_t index = 1; index < count; ++index)
        if (is_definition(dynamic, index, name)) return index;
    return 0;
}

struct DefinitionSearch {
    Wanted* wanted;
    size_t count;
    Where where;
    size_t missing;
    bool past_recorder = false;
};

int search_definitions(dl_phdr_info* info, size_t, void* context) {
    auto& search = *static_cast<DefinitionSearch*>(context);
    if (search.where == Where::kAfterRecorder && loaded_late) {
        if (is_in_file(*info, reinterpret_cast<uintptr_t>(&search_definitions))) return 0;
    } else if (search.where != Where::kAnywhere && !search.past_recorder) {
        search.past_recorder = is_in_file(*info, reinterpret_cast<uintptr_t>(&search_definitions));
        if (search.past_recorder) return search.where == Where::kBeforeRecorder;
        if (search.where == Where::kAfterRecorder) return 0;
    }
    Dynamic dynamic;
    if (!read_dynamic(*info, dynamic)) return 0;
    // Of an earlier memtoll, whose recorder stays in the process.
    if (loaded_late && definition(dynamic, {"memtoll_recorder_attach", hash_of("memtoll_recorder_attach")})) return 0;
    for (Wanted* wanted = search.wanted; wanted != search.wanted + search.count; ++wanted)
        if (!wanted->found && find_definition(dynamic, *wanted)) --search.missing;
    return search.missing == 0;
}

} // namespace

bool loaded_late = false;

bool find_definition(const Dynamic& dynamic, Wanted& wanted) {
    const uint32_t index = dynamic.gnu_hash ? find_by_gnu_hash(dynamic, wanted)
                           : dynamic.hash   ? find_by_search(dynamic, wanted.name)
                                            : 0;
    if (index == 0) return false;
    const ElfW(Sym)& symbol = dynamic.symbols[index];
    const uintptr_t address = dynamic.bias + symbol.st_value;
    const bool is_chosen = ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC; // the size is that of what chooses
    wanted.found = is_chosen ? reinterpret_cast<void* (*)()>(address)() : reinterpret_cast<void*>(address);
    wanted.bytes = is_chosen ? 0 : symbol.st_size;
    return wanted.found != nullptr;
}

void* definition(const Dynamic& dynamic, const Wanted& wanted) {
    Wanted found{wanted.name, wanted.hash};
    return find_definition(dynamic, found) ? found.found : nullptr;
}

bool is_in_file(const dl_phdr_info& info, uintptr_t address) {
    for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info.dlpi_phdr[i];
        if (segment.p_type == PT_LOAD && address - (info.dlpi_addr + segment.p_vaddr) < segment.p_memsz) return true;
    }
    return false;
}

bool read_dynamic(const dl_phdr_info& info, Dynamic& out) {
    out.bias = info.dlpi_addr;
    const ElfW(Dyn)* entry = nullptr;
    for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info.dlpi_phdr[i];
        const uintptr_t begin = out.bias + segment.p_vaddr;
        if (segment.p_type == PT_DYNAMIC) entry = reinterpret_cast<const ElfW(Dyn)*>(begin);
        if (segment.p_type == PT_GNU_RELRO) {
            out.relro_begin = begin & ~(kernel::page_bytes() - 1);
            out.relro_end = begin + segment.p_memsz;
        }
    }
    if (!entry) return false;
    out.entries = entry;
    uint64_t own_name = 0;
    for (; entry->d_tag != DT_NULL; ++entry) {
        // glibc relocates these pointers in place, but not in the kernel's vdso, which cannot be written to.
        const uintptr_t pointer = entry->d_un.d_ptr < out.bias ? out.bias + entry->d_un.d_ptr : entry->d_un.d_ptr;
        switch (entry->d_tag) {
        case DT_SYMTAB: out.symbols = reinterpret_cast<const ElfW(Sym)*>(pointer); break;
        case DT_STRTAB: out.strings = reinterpret_cast<const char*>(pointer); break;
        case DT_VERSYM: out.versions = reinterpret_cast<const uint16_t*>(pointer); break;
        case DT_GNU_HASH: out.gnu_hash = reinterpret_cast<const uint32_t*>(pointer); break;
        case DT_HASH: out.hash = reinterpret_cast<const uint32_t*>(pointer); break;
        case DT_RELA: out.relocations = reinterpret_cast<const ElfW(Rela)*>(pointer); break;
        case DT_RELASZ: out.relocation_bytes = entry->d_un.d_val; break;
        case DT_JMPREL: out.plt = reinterpret_cast<const ElfW(Rela)*>(pointer); break;
        case DT_PLTRELSZ: out.plt_bytes = entry->d_un.d_val; break;
        case DT_SONAME: own_name = entry->d_un.d_val; break;
        case DT_INIT_ARRAYSZ: out.constructors_bytes = entry->d_un.d_val; break;
        default: break;
        }
    }
    if (out.strings && own_name) out.own_name = out.strings + own_name;
    return out.symbols && out.strings;
}

bool is_called(const dl_phdr_info& info, const Dynamic& dynamic, const char* name) {
    if (dynamic.own_name && strcmp(dynamic.own_name, name) == 0) return true;
    if (!info.dlpi_name) return false;
    const char* slash = strrchr(info.dlpi_name, '/');
    return strcmp(info.dlpi_name, name) == 0 || (slash && strcmp(slash + 1, name) == 0);
}

uint32_t hash_of(const char* name) {
    uint32_t hash = 5381;
    for (; *name; ++name) hash = hash * 33 + static_cast<uint8_t>(*name);
    return hash;
}

MEMTOLL_ALIGNS_STACK void find_symbols(const char* names, Wanted* wanted, size_t count, Where where) {
    for (size_t i = 0; i < count; ++i) {
        wanted[i] = {names, hash_of(names)};
        names += strlen(names) + 1;
    }
    DefinitionSearch search{wanted, count, where, count};
    dl_iterate_phdr(search_definitions, &search);
}

void* find_symbol(const char* name, Where where) {
    Wanted wanted;
    find_symbols(name, &wanted, 1, where);
    return wanted.found;
}

} // namespace memtoll
