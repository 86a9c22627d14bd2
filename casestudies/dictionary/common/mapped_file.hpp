// A file as memory. Its pages are the kernel's own copy of the file: they are read from the disk once, and not copied.
#pragma once

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

class MappedFile {
public:
    explicit MappedFile(const char* path) {
        const int file = open(path, O_RDONLY | O_CLOEXEC);
        struct stat status;
        if (file < 0 || fstat(file, &status) != 0) fail(path, file);
        _size = static_cast<std::size_t>(status.st_size);
        if (_size > 0) { // an empty mapping is an error
            // All of it will be read: map it at once, rather than with a page fault for each 64 KiB.
            void* const memory = mmap(nullptr, _size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
            if (memory == MAP_FAILED) fail(path, file);
            _begin = static_cast<const char*>(memory);
        }
        close(file);
    }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile() {
        if (_begin) munmap(const_cast<char*>(_begin), _size);
    }

    std::string_view text() const { return {_begin, _size}; }

private:
    [[noreturn]] static void fail(const char* path, int file) {
        const int error = errno;
        if (file >= 0) close(file);
        throw std::system_error(error, std::generic_category(), path);
    }

    const char* _begin = nullptr;
    std::size_t _size = 0;
};
