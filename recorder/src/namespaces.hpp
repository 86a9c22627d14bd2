// The files that the loader has loaded, in all of its namespaces: dlmopen makes more of them than the program's, each with a C
// library of its own, and dl_iterate_phdr tells of none but its caller's.
#pragma once

#include <cstddef>
#include <link.h>

namespace memtoll {

struct LoadedFile {
    dl_phdr_info info; // where it is, its segments, and the loader's name for it
    const link_map* map; // what the loader knows it by
    unsigned space; // its namespace: 0 is the program's
};

// All files, in the order of loading, namespace after namespace. Namespaces beside the first are there where the loader tells
// debuggers of them (glibc 2.35 and later).
struct LoadedFiles {
    const LoadedFile* files;
    unsigned count;
    unsigned long long added; // as files_loaded() says
    const LoadedFile* begin() const { return files; }
    const LoadedFile* end() const { return files + count; }
};

// Calls `use` once. The loader's lock is held meanwhile: no file comes or goes. False: there is no memory for that.
bool with_loaded_files(void (*use)(const LoadedFiles& all, void* context), void* context);

template <class Use> bool with_loaded_files(Use use) {
    return with_loaded_files([](const LoadedFiles& all, void* context) { (*static_cast<Use*>(context))(all); }, &use);
}

// How many files were ever loaded.
unsigned long long files_loaded();

} // namespace memtoll
