// The files of all namespaces, as the loader tells debuggers of them.
#include "namespaces.hpp"

#include "dynamic_section.hpp"

#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <set>
#include <string>

using namespace memtoll;

namespace {

std::multiset<std::string> names_in(unsigned space) {
    std::multiset<std::string> names;
    with_loaded_files([&](const LoadedFiles& all) {
        for (const LoadedFile& file : all) {
            if (file.space != space) continue;
            const char* slash = strrchr(file.info.dlpi_name, '/');
            names.insert(slash ? slash + 1 : file.info.dlpi_name);
        }
    });
    return names;
}

TEST(Namespaces, AreThoseThatTheLoaderTellsOf) {
    std::multiset<std::string> told;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* told) {
            const char* slash = strrchr(info->dlpi_name, '/');
            static_cast<std::multiset<std::string>*>(told)->insert(slash ? slash + 1 : info->dlpi_name);
            return 0;
        },
        &told);
    EXPECT_EQ(names_in(0), told);
    EXPECT_TRUE(told.count("")) << "the executable has no name";
}

TEST(Namespaces, OfAnotherNamespaceHaveTheirSegments) {
    ASSERT_EQ(names_in(1).size(), 0u);
    const unsigned long long before = files_loaded();
    void* const library = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
    ASSERT_TRUE(library) << dlerror();
    EXPECT_GT(files_loaded(), before);
    with_loaded_files([](const LoadedFiles& all) { EXPECT_EQ(all.added, files_loaded()); });
    EXPECT_EQ(names_in(1).count("libc.so.6"), 1u);
    const auto theirs = reinterpret_cast<uintptr_t>(dlsym(library, "malloc"));
    ASSERT_NE(theirs, reinterpret_cast<uintptr_t>(&malloc)) << "a C library of its own";
    unsigned found = 0;
    with_loaded_files([&](const LoadedFiles& all) {
        for (const LoadedFile& file : all) {
            Dynamic dynamic;
            if (!is_in_file(file.info, theirs)) continue;
            ++found;
            EXPECT_EQ(file.space, 1u);
            ASSERT_TRUE(read_dynamic(file.info, dynamic));
            EXPECT_EQ(reinterpret_cast<uintptr_t>(definition(dynamic, {"malloc", hash_of("malloc")})), theirs);
            EXPECT_TRUE(is_called(file.info, dynamic, "libc.so.6"));
            EXPECT_FALSE(is_called(file.info, dynamic, "c.so.6"));
        }
    });
    EXPECT_EQ(found, 1u);
    dlclose(library);
    EXPECT_EQ(names_in(1).size(), 0u);
}

} // namespace
