// Programs that the target starts: the recorder goes along through LD_PRELOAD, whatever environment they are given,
// unless it would break them (another word size, another C library) or cannot be seen from where they start.
//
// Everything here may run in a vfork child, on its parent's memory and a borrowed stack: nothing is allocated and
// nothing of the target's is changed.
#include "../kernel.hpp"
#include "../threads/thread_life.hpp"
#include "../resource_usage.hpp"
#include "scope.hpp"

#include <alloca.h>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <initializer_list>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

namespace memtoll {
namespace {

using Reason = wire::ExecBlob::Reason;

constexpr char kPreload[] = "LD_PRELOAD=";
constexpr size_t kPreloadBytes = sizeof kPreload - 1;
constexpr char kFile[] = "/libmemtoll.so";

// -- what kind of program it is --------------------------------------------------------------------------------------

Reason inspect(int directory, const char* path, int depth);

// A file, of which a window is in memory: what is asked for stands close together.
class File {
public:
    explicit File(long fd) : fd_(fd) {}

    // As many bytes as there are from `at` on, up to `bytes`. How many.
    size_t read(uint64_t at, void* to, size_t bytes) {
        if (at < begin_ || at - begin_ + bytes > have_) move(at);
        const uint64_t offset = at - begin_;
        if (offset >= have_) return 0;
        if (bytes > have_ - offset) bytes = have_ - offset;
        memcpy(to, window_ + offset, bytes);
        return bytes;
    }

    // False if the file ends before.
    template <class T> bool read(uint64_t at, T& value) { return read(at, &value, sizeof value) == sizeof value; }

private:
    static constexpr size_t kBytes = 1024; // the headers of a program, and the name of its loader behind them

    void move(uint64_t at) {
        const long got = kernel::call(SYS_pread64, fd_, reinterpret_cast<long>(window_), kBytes, static_cast<long>(at));
        begin_ = at;
        have_ = got > 0 ? static_cast<size_t>(got) : 0;
    }

    long fd_;
    uint64_t begin_ = 0;
    size_t have_ = 0;
    char window_[kBytes];
};

// Libraries that refuse to start, or crash, behind another one.
bool is_sanitizer(const char* library) {
    for (const char* name : {"libasan.so", "libtsan.so", "libclang_rt.asan", "libclang_rt.tsan"})
        if (strncmp(library, name, strlen(name)) == 0) return true;
    return false;
}

// Where `address` of the program lies in its file.
bool find_offset(File& file, const Elf64_Ehdr& header, uint64_t address, uint64_t& offset) {
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment;
        if (!file.read(header.e_phoff + i * sizeof segment, segment)) return false;
        if (segment.p_type != PT_LOAD || address - segment.p_vaddr >= segment.p_filesz) continue;
        offset = segment.p_offset + (address - segment.p_vaddr);
        return true;
    }
    return false;
}

bool needs_sanitizer(File& file, const Elf64_Ehdr& header, const Elf64_Phdr& dynamic) {
    uint64_t strings = 0, names[64];
    unsigned count = 0;
    bool known = false;
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.p_filesz; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        if (!file.read(dynamic.p_offset + at, entry) || entry.d_tag == DT_NULL) break;
        if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr, known = true;
        if (entry.d_tag == DT_NEEDED && count < sizeof names / sizeof *names) names[count++] = entry.d_un.d_val;
    }
    if (!known || !find_offset(file, header, strings, strings)) return false;
    for (unsigned i = 0; i < count; ++i) {
        char name[20] = {};
        if (file.read(strings + names[i], name, sizeof name - 1) && is_sanitizer(name)) return true;
    }
    return false;
}

Reason inspect_elf(File& file, const Elf64_Ehdr& header) {
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != arch::kElfMachine) return Reason::kForeignClass;
    Reason reason = Reason::kStatic;
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment;
        if (!file.read(header.e_phoff + i * sizeof segment, segment)) return Reason::kUnknown;
        if (segment.p_type == PT_DYNAMIC && reason == Reason::kRecordable && needs_sanitizer(file, header, segment))
            return Reason::kSanitizer;
        if (segment.p_type != PT_INTERP) continue; // it comes before PT_DYNAMIC
        char loader[64] = {};
        const size_t bytes = segment.p_filesz < sizeof loader ? segment.p_filesz : sizeof loader - 1;
        file.read(segment.p_offset, loader, bytes);
        const char* slash = strrchr(loader, '/');
        const char* name = slash ? slash + 1 : loader;
        if (strcmp(name, arch::kGlibcLoader) != 0 && strcmp(name, arch::kMuslLoader) != 0) return Reason::kForeignLibc;
        reason = Reason::kRecordable;
    }
    return reason;
}

Reason inspect_file(long fd, int depth) {
    File file(fd);
    char head[256] = {};
    if (file.read(0, head, sizeof head - 1) < 4) return Reason::kUnknown;
    if (head[0] == '#' && head[1] == '!') { // a script: its interpreter counts
        char* name = head + 2 + strspn(head + 2, " \t");
        name[strcspn(name, " \t\r\n")] = 0;
        return depth < 4 ? inspect(AT_FDCWD, name, depth + 1) : Reason::kUnknown;
    }
    if (memcmp(head, ELFMAG, SELFMAG) != 0) return Reason::kUnknown;
    struct stat status;
    if (!kernel::failed(kernel::call(SYS_fstat, fd, reinterpret_cast<long>(&status))) &&
        (((status.st_mode & S_ISUID) && status.st_uid != geteuid()) ||
         ((status.st_mode & S_ISGID) && status.st_gid != getegid())))
        return Reason::kSetuid;
    if (kernel::call(SYS_fgetxattr, fd, reinterpret_cast<long>("security.capability"), 0, 0) > 0 && geteuid() != 0)
        return Reason::kSetuid;
    Elf64_Ehdr header;
    return file.read(0, header) ? inspect_elf(file, header) : Reason::kUnknown;
}

Reason inspect(int directory, const char* path, int depth) {
    const long fd = kernel::call(SYS_openat, directory, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (kernel::failed(fd)) return Reason::kUnknown;
    const Reason reason = inspect_file(fd, depth);
    kernel::call(SYS_close, fd);
    return reason;
}

// The file that execvp would find for `name`, in `buffer`; `name` itself if it has a slash or none is found.
const char* search_path(const char* name, char* buffer, size_t bytes) {
    if (strchr(name, '/')) return name;
    const char* list = getenv("PATH");
    if (!list) list = "/bin:/usr/bin";
    const size_t name_bytes = strlen(name) + 1;
    for (;;) {
        const size_t length = strcspn(list, ":");
        if (length + 1 + name_bytes <= bytes) {
            memcpy(buffer, list, length);
            buffer[length] = '/';
            memcpy(buffer + length + 1, name, name_bytes);
            const char* candidate = length ? buffer : buffer + 1; // an empty entry is the current directory
            if (kernel::call(SYS_faccessat, AT_FDCWD, reinterpret_cast<long>(candidate), X_OK) == 0) return candidate;
        }
        if (list[length] == 0) return name;
        list += length + 1;
    }
}

// -- its environment -------------------------------------------------------------------------------------------------

struct Plan {
    enum { kLeave, kAdd, kRemove } what = kLeave;
    size_t entries = 0;     // of the environment, without the closing null
    size_t preload = 0;     // index of LD_PRELOAD, or `entries`
    size_t value_bytes = 0; // of LD_PRELOAD's present value
};

Plan make_plan(char* const* environment, bool wanted) {
    Plan plan;
    if (session.directory()[0] == 0) return plan;
    if (environment)
        for (; environment[plan.entries]; ++plan.entries) {}
    plan.preload = plan.entries;
    for (size_t i = 0; i < plan.entries; ++i)
        if (strncmp(environment[i], kPreload, kPreloadBytes) == 0) plan.preload = i;
    const char* value = plan.preload < plan.entries ? environment[plan.preload] + kPreloadBytes : "";
    plan.value_bytes = strlen(value);
    const bool present = strstr(value, session.directory()) != nullptr;
    if (present != wanted) plan.what = wanted ? Plan::kAdd : Plan::kRemove;
    return plan;
}

// Copies `environment` to `entries` with LD_PRELOAD changed as planned; its text goes to `text`.
void carry_out(const Plan& plan, char* const* environment, const char** entries, char* text) {
    for (size_t i = 0; i < plan.entries; ++i) entries[i] = environment[i];
    const char* old = plan.preload < plan.entries ? environment[plan.preload] + kPreloadBytes : "";
    char* end = stpcpy(text, kPreload);
    if (plan.what == Plan::kAdd) {
        end = stpcpy(stpcpy(end, session.directory()), kFile);
        if (*old) stpcpy(stpcpy(end, ":"), old);
        entries[plan.preload] = text;
        entries[plan.preload == plan.entries ? plan.entries + 1 : plan.entries] = nullptr;
        return;
    }
    const char* own = strstr(old, session.directory());
    const char* rest = own + strcspn(own, ": ");
    rest += strspn(rest, ": ");
    memcpy(end, old, static_cast<size_t>(own - old));
    stpcpy(end + (own - old), rest);
    entries[plan.entries] = nullptr;
    if (end[0]) entries[plan.preload] = text;
    else memmove(entries + plan.preload, entries + plan.preload + 1, (plan.entries - plan.preload) * sizeof *entries);
}

// -- both ------------------------------------------------------------------------------------------------------------

[[gnu::noinline]] void record_exec(arch::HookFrame frame, const char* path, Reason reason) {
    HookScope scope(frame);
    if (!scope) return;
    scope.no_call();
    wire::ExecBlob blob{kernel::process_id(), reason};
    append_blob(scope.log(), wire::kExec, &blob, sizeof blob, path, strnlen(path, 4096));
}

// The call before which `record_exec` or `record_usage` spoke has failed.
[[gnu::noinline]] void record_failure(arch::HookFrame frame, const char* path) { record_exec(frame, path, Reason::kNotStarted); }

// The kernel goes on counting for the program that takes this one's place, so its supervisor must know what to take off.
// A forked child that has recorded nothing yet does not begin with this.
[[gnu::noinline]] void record_usage(arch::HookFrame frame) {
    if (thread_state->how() == ThreadState::kNone) return;
    if (kernel::process_id() != session.process_id()) return;
    HookScope scope(frame);
    if (!scope) return;
    scope.no_call();
    append_usage(scope.log(), wire::UsageBlob::kThread);
    append_usage(scope.log(), wire::UsageBlob::kProcess);
    publish_statistics(scope.state());
}

// Whether the recorder should go along into the program; says why not, to the supervisor.
bool goes_along(arch::HookFrame frame, const char* path, Reason reason) {
    if (reason != Reason::kForeignClass && reason != Reason::kForeignLibc && reason != Reason::kSanitizer) {
        char file[512];
        if (strlen(session.directory()) + sizeof kFile > sizeof file) return false;
        stpcpy(stpcpy(file, session.directory()), kFile);
        if (kernel::call(SYS_faccessat, AT_FDCWD, reinterpret_cast<long>(file), R_OK) != 0) reason = Reason::kNoPreload;
    }
    if (reason != Reason::kRecordable && reason != Reason::kUnknown) record_exec(frame, path, reason);
    // A static program ignores LD_PRELOAD, but its children may not.
    return reason == Reason::kRecordable || reason == Reason::kUnknown || reason == Reason::kStatic ||
           reason == Reason::kSetuid;
}

enum class Place { kThisProcess, kNewProcess };

// Calls `start` with the environment that the program at `path` is to get.
template <Place place, class Start>
[[gnu::always_inline]] inline int with_environment(arch::HookFrame frame, const char* path, Reason reason,
                                                   char* const* environment, Start start) {
    if (session.state.load(std::memory_order_acquire) != Session::kRecording) return start(environment);
    // Then nothing can be found out about the program; in most environments the recorder stands already.
    if (kernel::silent.load(std::memory_order_relaxed)) return start(environment);
    if (place == Place::kThisProcess) record_usage(frame);
    const Plan plan = make_plan(environment, goes_along(frame, path, reason));
    int result;
    if (plan.what == Plan::kLeave) {
        result = start(environment);
    } else {
        auto** entries = static_cast<const char**>(alloca((plan.entries + 2) * sizeof(char*)));
        auto* text = static_cast<char*>(
            alloca(kPreloadBytes + strlen(session.directory()) + sizeof kFile + 1 + plan.value_bytes + 1));
        carry_out(plan, environment, entries, text);
        result = start(const_cast<char* const*>(entries));
    }
    if (result != 0) { // exec returns -1, posix_spawn an error
        const int error = errno;
        record_failure(frame, path);
        errno = error;
    }
    return result;
}

template <Place place = Place::kThisProcess, class Start>
[[gnu::always_inline]] inline int with_searched(const char* name, char* const* environment, Start start) {
    need_next();
    char buffer[1024];
    const char* path = search_path(name, buffer, sizeof buffer);
    return with_environment<place>(MEMTOLL_FRAME(), path, inspect(AT_FDCWD, path, 0), environment, start);
}

template <Place place = Place::kThisProcess, class Start>
[[gnu::always_inline]] inline int with_path(int directory, const char* path, char* const* environment, Start start) {
    need_next();
    return with_environment<place>(MEMTOLL_FRAME(), path, inspect(directory, path, 0), environment, start);
}

} // namespace
} // namespace memtoll

using namespace memtoll;

MEMTOLL_HOOK int execve(const char* path, char* const* arguments, char* const* environment) noexcept {
    return with_path(AT_FDCWD, path, environment,
                     [&](char* const* adjusted) { return next.execve(path, arguments, adjusted); });
}

MEMTOLL_HOOK int execv(const char* path, char* const* arguments) noexcept {
    return with_path(AT_FDCWD, path, environ,
                     [&](char* const* adjusted) { return next.execve(path, arguments, adjusted); });
}

MEMTOLL_HOOK int execvpe(const char* name, char* const* arguments, char* const* environment) noexcept {
    return with_searched(name, environment,
                         [&](char* const* adjusted) { return next.execvpe(name, arguments, adjusted); });
}

MEMTOLL_HOOK int execvp(const char* name, char* const* arguments) noexcept {
    return with_searched(name, environ,
                         [&](char* const* adjusted) { return next.execvpe(name, arguments, adjusted); });
}

MEMTOLL_HOOK int fexecve(int fd, char* const* arguments, char* const* environment) noexcept {
    need_next();
    return with_environment<Place::kThisProcess>(MEMTOLL_FRAME(), "(file descriptor)", inspect_file(fd, 0), environment,
                            [&](char* const* adjusted) { return next.fexecve(fd, arguments, adjusted); });
}

MEMTOLL_HOOK int execveat(int directory, const char* path, char* const* arguments, char* const* environment,
                          int flags) noexcept {
    need_next();
    const bool by_descriptor = (flags & AT_EMPTY_PATH) && path[0] == 0;
    const Reason reason = by_descriptor ? inspect_file(directory, 0) : inspect(directory, path, 0);
    return with_environment<Place::kThisProcess>(MEMTOLL_FRAME(), path, reason, environment, [&](char* const* adjusted) {
        return next.execveat(directory, path, arguments, adjusted, flags);
    });
}

MEMTOLL_HOOK int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
    return with_path<Place::kNewProcess>(AT_FDCWD, path, environment, [&](char* const* adjusted) {
        return next.posix_spawn(pid, path, actions, attributes, arguments, adjusted);
    });
}

MEMTOLL_HOOK int posix_spawnp(pid_t* pid, const char* name, const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
    return with_searched<Place::kNewProcess>(name, environment, [&](char* const* adjusted) {
        return next.posix_spawnp(pid, name, actions, attributes, arguments, adjusted);
    });
}

// The argument list of an execl function as an array on the stack; `list` must be started and is left at what follows
// the closing null.
#define ARGUMENTS(array, first, list)                                                                                   \
    va_list counting;                                                                                                   \
    va_copy(counting, list);                                                                                            \
    size_t count = 1;                                                                                                   \
    while (va_arg(counting, char*)) ++count;                                                                            \
    va_end(counting);                                                                                                   \
    auto** array = static_cast<char**>(alloca((count + 1) * sizeof(char*)));                                            \
    array[0] = const_cast<char*>(first);                                                                                \
    for (size_t i = 1; i <= count; ++i) array[i] = va_arg(list, char*)

MEMTOLL_HOOK int execl(const char* path, const char* first, ...) noexcept {
    va_list list;
    va_start(list, first);
    ARGUMENTS(arguments, first, list);
    va_end(list);
    return execv(path, arguments);
}

MEMTOLL_HOOK int execlp(const char* name, const char* first, ...) noexcept {
    va_list list;
    va_start(list, first);
    ARGUMENTS(arguments, first, list);
    va_end(list);
    return execvp(name, arguments);
}

MEMTOLL_HOOK int execle(const char* path, const char* first, ...) noexcept {
    va_list list;
    va_start(list, first);
    ARGUMENTS(arguments, first, list);
    char* const* environment = va_arg(list, char* const*);
    va_end(list);
    return execve(path, arguments, environment);
}
