#include "process_maps.hpp"

#include "kernel.hpp"

#include <fcntl.h>

namespace memtoll::process_maps {
namespace {

// struct procmap_query of <linux/fs.h>, which older headers lack.
struct Query {
    uint64_t size;
    uint64_t flags; // none: the mapping at the address, and no other
    uint64_t address;
    uint64_t start, end, mapping_flags, page_bytes, offset, inode; // the answer
    uint32_t device_major, device_minor;
    uint32_t name_bytes, build_id_bytes; // 0: neither is asked for
    uint64_t name, build_id;
};
static_assert(sizeof(Query) == 104);
constexpr uint64_t kExecutable = 4;                                 // PROCMAP_QUERY_VMA_EXECUTABLE
constexpr long kQuery = 0xc0000000 | sizeof(Query) << 16 | 'f' << 8 | 17; // PROCMAP_QUERY: _IOWR('f', 17, Query)
constexpr long kEnoent = -2;

// Reading the list of a program with many mappings takes long. On average a question may read this many bytes, and the
// balance may fall behind by kMostOwed.
constexpr uint64_t kBytesAQuestion = 4 << 10;
constexpr uint64_t kMostOwed = 256 << 10;

std::atomic<bool> has_query{true};
std::atomic<uint64_t> owed{0}; // bytes read beyond kBytesAQuestion for each question

// A list's line begins with "begin-end rwxp ".
class LineReader {
public:
    // Takes the next character. True at the end of a line's beginning, which is then in `mapping`.
    bool take(char c, Mapping& mapping) {
        if (c == '\n') {
            at_ = kBegin;
            mapping = {};
            return false;
        }
        switch (at_) {
        case kBegin:
            if (c == '-') at_ = kEnd;
            else mapping.begin = mapping.begin << 4 | digit(c);
            return false;
        case kEnd:
            if (c == ' ') at_ = kRights;
            else mapping.end = mapping.end << 4 | digit(c);
            return false;
        case kRights:
            if (c == 'x') mapping.executable = true;
            if (c != ' ') return false;
            at_ = kRest;
            return true;
        default: return false;
        }
    }

private:
    static uintptr_t digit(char c) { return static_cast<uintptr_t>(c <= '9' ? c - '0' : c - 'a' + 10); }

    enum { kBegin, kEnd, kRights, kRest } at_ = kBegin;
};

} // namespace

Answer query(long file, uintptr_t address, Mapping& found) {
    Query question{};
    question.size = sizeof question;
    question.address = address;
    const long result = kernel::call(SYS_ioctl, file, kQuery, reinterpret_cast<long>(&question));
    if (result == kEnoent) return Answer::kNothing;
    if (kernel::failed(result)) return Answer::kUnknown;
    found = {question.start, question.end, (question.mapping_flags & kExecutable) != 0};
    return Answer::kFound;
}

Answer read_list(long file, uintptr_t address, Mapping& found, uint64_t& read) {
    char text[512]; // small: this may run on a signal's stack
    LineReader line;
    Mapping mapping;
    for (;;) {
        const long bytes = kernel::call(SYS_read, file, reinterpret_cast<long>(text), sizeof text);
        if (kernel::failed(bytes)) return Answer::kUnknown;
        if (bytes == 0) return Answer::kNothing;
        read += static_cast<uint64_t>(bytes);
        for (long i = 0; i < bytes; ++i) {
            if (!line.take(text[i], mapping) || address >= mapping.end) continue;
            if (address < mapping.begin) return Answer::kNothing; // they are in order
            found = mapping;
            return Answer::kFound;
        }
    }
}

Answer find(uintptr_t address, Mapping& found) {
    // Valgrind does not know the question, and says so.
    const bool can_query = has_query.load(std::memory_order_relaxed) && arch::valgrind_depth() == 0;
    uint64_t debt = owed.load(std::memory_order_relaxed);
    if (!can_query && debt > kMostOwed) {
        owed.store(debt - kBytesAQuestion, std::memory_order_relaxed);
        return Answer::kUnknown;
    }
    const long file = kernel::call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/maps"), O_RDONLY | O_CLOEXEC);
    if (kernel::failed(file)) return Answer::kUnknown;
    Answer answer = Answer::kUnknown;
    if (can_query) answer = query(file, address, found);
    if (answer == Answer::kUnknown) {
        if (can_query) has_query.store(false, std::memory_order_relaxed);
        answer = read_list(file, address, found, debt);
        owed.store(debt > kBytesAQuestion ? debt - kBytesAQuestion : 0, std::memory_order_relaxed);
    }
    kernel::call(SYS_close, file);
    return answer;
}

} // namespace memtoll::process_maps
