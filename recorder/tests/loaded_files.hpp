// The call frame information of the files that are loaded into the test itself.
#pragma once

#include "modules.hpp"

#include <cstring>
#include <link.h>
#include <string>
#include <vector>

namespace memtoll::test {

struct LoadedFile {
    std::string name;
    Module module;
    struct Function {
        uintptr_t start, fde;
    };
    std::vector<Function> functions; // from .eh_frame_hdr's table, by start
    uintptr_t eh_frame = 0;
    uintptr_t eh_frame_end = 0; // behind the last entry of the table's functions
};

// Written anew, and simpler than the recorder's reader: undamaged input of the one form that linkers produce.
inline std::vector<LoadedFile> loaded_files() {
    std::vector<LoadedFile> files;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) {
            uintptr_t low = UINTPTR_MAX, high = 0;
            for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
                const ElfW(Phdr)& segment = info->dlpi_phdr[i];
                if (segment.p_type != PT_LOAD) continue;
                low = std::min(low, uintptr_t{info->dlpi_addr + segment.p_vaddr});
                high = std::max(high, uintptr_t{info->dlpi_addr + segment.p_vaddr + segment.p_memsz});
            }
            LoadedFile file;
            file.name = info->dlpi_name;
            if (!describe_module(low & ~uintptr_t{4095}, high, info->dlpi_addr, info->dlpi_name, file.module)) return 0;
            const uintptr_t header = file.module.cfi.eh_frame_hdr;
            if (header == 0) return 0;
            auto word = [](uintptr_t at) {
                int32_t value;
                memcpy(&value, reinterpret_cast<const void*>(at), sizeof value);
                return static_cast<uintptr_t>(intptr_t{value});
            };
            file.eh_frame = header + 4 + word(header + 4);
            const size_t count = word(header + 8);
            for (size_t i = 0; i < count; ++i) {
                const uintptr_t entry = header + 12 + 8 * i;
                const uintptr_t fde = header + word(entry + 4);
                file.functions.push_back({header + word(entry), fde});
                file.eh_frame_end = std::max(file.eh_frame_end, fde + 4 + word(fde));
            }
            static_cast<std::vector<LoadedFile>*>(out)->push_back(std::move(file));
            return 0;
        },
        &files);
    return files;
}

} // namespace memtoll::test
