#include "session.hpp"

#include "clock.hpp"
#include "dynamic_section.hpp"
#include "fnv.hpp"
#include "footprint.hpp"
#include "kernel.hpp"
#include "own_ranges.hpp"

#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace memtoll {

Session session;

namespace {

constexpr unsigned kTokenDigits = 32;

uint64_t hex(const char* digits) {
    uint64_t value = 0;
    for (unsigned i = 0; i < 16; ++i) {
        const char c = digits[i];
        value = value << 4 | static_cast<uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return value;
}

// A socket that is connected to the supervisor, or -1. `directory` is PARENT/TOKEN; the supervisor listens on the
// abstract name "PARENT" (reachable from a chroot) and on the path PARENT/socket (reachable from another network
// namespace).
long connect_socket(const char* directory) {
    const long fd = kernel::call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (kernel::failed(fd)) return -1;
    // A supervisor that does not answer must not hold up the target.
    const timeval patience{2, 0};
    for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO})
        kernel::call(SYS_setsockopt, fd, SOL_SOCKET, option, reinterpret_cast<long>(&patience), sizeof patience);
    const size_t parent = strlen(directory) - kTokenDigits - 1;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    constexpr char kSocketName[] = "/socket";
    if (parent + sizeof kSocketName > sizeof address.sun_path) {
        kernel::call(SYS_close, fd);
        return -1;
    }
    memcpy(address.sun_path + 1, directory, parent);
    const size_t head = offsetof(sockaddr_un, sun_path);
    if (!kernel::failed(kernel::call(SYS_connect, fd, reinterpret_cast<long>(&address), static_cast<long>(head + 1 + parent))))
        return fd;
    memcpy(address.sun_path, directory, parent);
    memcpy(address.sun_path + parent, kSocketName, sizeof kSocketName);
    if (!kernel::failed(kernel::call(SYS_connect, fd, reinterpret_cast<long>(&address), sizeof address))) return fd;
    kernel::call(SYS_close, fd);
    return -1;
}

// A message with room for one descriptor.
struct WithDescriptor {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    iovec body;
    msghdr message{};

    WithDescriptor(void* bytes, size_t length) : body{bytes, length} {
        message.msg_iov = &body;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
    }
    WithDescriptor(const WithDescriptor&) = delete;
};

// Receives the welcome and the descriptor that comes with it. -1 when there is none.
long receive_welcome(long socket, wire::Welcome& welcome) {
    WithDescriptor with(&welcome, sizeof welcome);
    msghdr& message = with.message;
    const long bytes = kernel::call(SYS_recvmsg, socket, reinterpret_cast<long>(&message), MSG_CMSG_CLOEXEC);
    const cmsghdr* header = bytes > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (!header || header->cmsg_type != SCM_RIGHTS) return -1;
    int fd;
    memcpy(&fd, CMSG_DATA(header), sizeof fd);
    if (bytes == sizeof welcome && welcome.magic == wire::kMagic && welcome.version == wire::kVersion &&
        welcome.accepted)
        return fd;
    kernel::call(SYS_close, fd);
    return -1;
}

void send_with_file(long socket, wire::Hello& hello, int file) {
    WithDescriptor with(&hello, sizeof hello);
    msghdr& message = with.message;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(header), &file, sizeof file);
    kernel::call(SYS_sendmsg, socket, reinterpret_cast<long>(&message), MSG_NOSIGNAL);
}

uint64_t limit_of(int resource) {
    rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
    kernel::call(SYS_prlimit64, 0, resource, 0, reinterpret_cast<long>(&limit));
    return limit.rlim_cur;
}

// How much address space the process has, which tells the supervisor how large an arena to make. Under Valgrind each byte of a
// mapping costs time, as memcheck notes what it may be used for: an arena of 128 MiB has a chunk for each of the 500 threads
// that Valgrind allows.
uint64_t address_space() {
    constexpr uint64_t kUnderValgrind = uint64_t{1} << 30;
    const uint64_t limit = limit_of(RLIMIT_AS);
    return arch::valgrind_depth() > 0 && kUnderValgrind < limit ? kUnderValgrind : limit;
}

// From here on the parent's arena is out of reach. A hook that a signal handler interrupted to fork may still hold
// pointers into it: in its place comes private memory that looks the same, and in which nothing is recorded. Where there is
// none, the arena stays the parent's and is left alone.
bool put_aside(wire::ArenaHeader* arena) {
    alignas(wire::ArenaHeader) char copy[sizeof(wire::ArenaHeader)];
    memcpy(copy, arena, sizeof copy);
    const long placed = kernel::call(SYS_mmap, reinterpret_cast<long>(arena), static_cast<long>(arena->arena_bytes),
                                     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
                                     -1, 0);
    if (kernel::failed(placed)) return false;
    memcpy(static_cast<void*>(arena), copy, sizeof copy);
    arena->stop.store(1, std::memory_order_relaxed);
    arena->slots_used.store(0, std::memory_order_relaxed);
    arena->chunks_used.store(0, std::memory_order_relaxed);
    arena->free_chunks.store(wire::kNoChunk, std::memory_order_relaxed);
    arena->burst_chunks.store(wire::kNoChunk, std::memory_order_relaxed);
    arena->node_count.store(wire::kFirstNode, std::memory_order_relaxed);
    return true;
}

// Where nothing can be mapped, because the program forbids itself system calls: an arena in which there is room for a thread
// and not for an event. What a hook goes on with in a forked child must not be the parent's.
struct Nowhere {
    wire::ArenaHeader header;
    wire::ThreadSlot slot;
};
constinit Nowhere nowhere{};

wire::ArenaHeader* arena_without_room(const wire::ArenaHeader& parents) {
    wire::ArenaHeader& header = nowhere.header;
    header.arena_bytes = sizeof nowhere;
    header.slots_offset = header.chunks_offset = header.nodes_offset = offsetof(Nowhere, slot);
    header.max_slots = 1;
    header.max_chunks.store(2, std::memory_order_relaxed);
    header.stack_depth = parents.stack_depth;
    header.clock = parents.clock;
    header.free_chunks.store(wire::kNoChunk, std::memory_order_relaxed);
    header.burst_chunks.store(wire::kNoChunk, std::memory_order_relaxed);
    header.node_count.store(wire::kFirstNode, std::memory_order_relaxed);
    header.stop.store(1, std::memory_order_relaxed);
    return &header;
}

// Where an arena can be that is mapped by a running program: not near its code, where jumps need room. 0: anywhere.
long far_from_code(size_t bytes) {
    constexpr uintptr_t kFirst = uintptr_t{1} << 44, kStep = uintptr_t{1} << 40, kTries = 64;
    for (uintptr_t i = 0; i < kTries; ++i) {
        const long at = static_cast<long>(kFirst + i * kStep);
        const long mapped = kernel::call(SYS_mmap, at, static_cast<long>(bytes), PROT_NONE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (mapped == at) return at;
        if (!kernel::failed(mapped)) kernel::unmap(reinterpret_cast<void*>(mapped), bytes); // a kernel before 4.17
    }
    return 0;
}

// The path that the recorder was loaded from. (dladdr would tell it, too, but from a library that a program may lack.)
int note_own_path(dl_phdr_info* info, size_t, void* path) {
    if (!is_in_file(*info, reinterpret_cast<uintptr_t>(&session))) return 0;
    *static_cast<const char**>(path) = info->dlpi_name;
    return 1;
}

} // namespace

uint64_t memory_limit() {
    const uint64_t addresses = limit_of(RLIMIT_AS), data = limit_of(RLIMIT_DATA);
    return addresses < data ? addresses : data;
}

bool Session::find_directory() {
    if (directory_[0]) return true;
    const char* path = nullptr;
    if (!dl_iterate_phdr(note_own_path, &path) || !path) return false;
    const char* slash = strrchr(path, '/');
    if (!slash) return false;
    const size_t bytes = static_cast<size_t>(slash - path);
    if (bytes >= kMaxPath || bytes <= kTokenDigits + 1 || path[bytes - kTokenDigits - 1] != '/') return false;
    memcpy(directory_, path, bytes);
    return true;
}

void Session::set_directory(const char* path) {
    const size_t bytes = strlen(path);
    if (bytes < kMaxPath && bytes > kTokenDigits + 1) memcpy(directory_, path, bytes + 1);
}

bool Session::mark_process() {
    if (!process_mark_) {
        const size_t bytes = kernel::page_bytes();
        void* page = kernel::map_private(bytes);
        if (!page) return false;
        if (!kernel::wipe_on_fork(page, bytes)) {
            kernel::unmap(page, bytes);
            return false;
        }
        process_mark_ = static_cast<std::atomic<uint32_t>*>(page);
    }
    process_mark_->store(1, std::memory_order_relaxed);
    return true;
}

wire::Hello Session::introduction() const {
    wire::Hello hello{};
    hello.magic = wire::kMagic;
    hello.version = wire::kVersion;
    const char* token = directory_ + strlen(directory_) - kTokenDigits;
    hello.token[0] = hex(token);
    hello.token[1] = hex(token + 16);
    return hello;
}

void Session::show_file(const char* path) {
    // Which files were shown, by what tells them apart: a program may load one again and again.
    static constinit std::atomic<uint64_t> shown[256];
    struct statx about;
    if (kernel::failed(kernel::call(SYS_statx, AT_FDCWD, reinterpret_cast<long>(path), 0, STATX_BASIC_STATS,
                                    reinterpret_cast<long>(&about))) ||
        !S_ISREG(about.stx_mode))
        return;
    Fnv<uint64_t> parts;
    for (const uint64_t part : {uint64_t{about.stx_dev_major}, uint64_t{about.stx_dev_minor}, uint64_t{about.stx_ino},
                                uint64_t{about.stx_size}, static_cast<uint64_t>(about.stx_ctime.tv_sec),
                                uint64_t{about.stx_ctime.tv_nsec}})
        parts.add(part);
    const uint64_t identity = parts.hash();
    if (shown[identity >> 56].exchange(identity, std::memory_order_relaxed) == identity) return;
    // Neither read nor opened by this process: it need not even be allowed to.
    const long file = kernel::call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_PATH | O_CLOEXEC);
    if (kernel::failed(file)) return;
    const long socket = connect_socket(directory_);
    if (socket >= 0) {
        wire::Hello hello = introduction();
        hello.purpose = wire::kFile;
        send_with_file(socket, hello, static_cast<int>(file));
        // Until the supervisor has it and hangs up: what follows is about this file.
        char nothing;
        kernel::call(SYS_recvfrom, socket, reinterpret_cast<long>(&nothing), sizeof nothing);
        kernel::call(SYS_close, socket);
    }
    kernel::call(SYS_close, file);
}

Session::Plan Session::ask_for_plan(const uint64_t (&hooks)[wire::kOwnHooks], const wire::Interposed* interposed, size_t count,
                                    uint64_t finder) {
    // The symbols of a large program take the supervisor a while.
    constexpr timeval kPatience{20, 0};
    Plan plan;
    plan.socket = connect_socket(directory_);
    if (plan.socket < 0) return plan;
    kernel::call(SYS_setsockopt, plan.socket, SOL_SOCKET, SO_RCVTIMEO, reinterpret_cast<long>(&kPatience), sizeof kPatience);
    wire::Hello hello = introduction();
    hello.purpose = wire::kPlan;
    hello.parent_image = arena->image;
    memcpy(hello.own_hooks, hooks, sizeof hello.own_hooks);
    hello.interposed = reinterpret_cast<uint64_t>(interposed);
    hello.interposed_count = count;
    hello.finder = finder;
    wire::Welcome welcome{};
    if (kernel::call(SYS_sendto, plan.socket, reinterpret_cast<long>(&hello), sizeof hello, MSG_NOSIGNAL) == sizeof hello)
        plan.file = receive_welcome(plan.socket, welcome);
    if (plan.file < 0) return plan;
    const long content = kernel::call(SYS_mmap, 0, static_cast<long>(welcome.arena_bytes), PROT_READ, MAP_PRIVATE, plan.file, 0);
    if (kernel::failed(content)) return plan;
    plan.content = reinterpret_cast<const char*>(content);
    plan.bytes = welcome.arena_bytes;
    return plan;
}

void Session::end_plan(const Plan& plan, const wire::Placed* placed, size_t regions) {
    if (plan.content) kernel::unmap(const_cast<char*>(plan.content), plan.bytes);
    if (plan.socket >= 0 && regions > 0)
        kernel::call(SYS_sendto, plan.socket, reinterpret_cast<long>(placed), static_cast<long>(regions), MSG_NOSIGNAL);
    for (const long fd : {plan.file, plan.socket})
        if (fd >= 0) kernel::call(SYS_close, fd);
}

bool Session::connect(bool forked) {
    if (directory_[0] == 0) return false;
    wire::Hello hello = introduction();
    hello.purpose = forked ? wire::kFork : wire::kProgram;
    hello.parent_image = forked ? arena->image : 0;
    const uint64_t forked_at = session.forked_at.exchange(0, std::memory_order_relaxed);
    hello.forked_at = forked ? forked_at : 0;
    process_id_ = kernel::process_id();
    hello.pid = process_id_;
    hello.stamp_ticks = counter_forbidden_.load(std::memory_order_relaxed) ? 0 : measure_stamp_ticks();
    hello.address_space_limit = address_space();
    if (memory_limit() != RLIM_INFINITY) is_limited_.store(true, std::memory_order_relaxed);

    const long socket = connect_socket(directory_);
    if (socket < 0) return false;
    wire::Welcome welcome{};
    long fd = -1;
    if (kernel::call(SYS_sendto, socket, reinterpret_cast<long>(&hello), sizeof hello, MSG_NOSIGNAL) == sizeof hello)
        fd = receive_welcome(socket, welcome);
    kernel::call(SYS_close, socket);
    if (fd < 0) return false;
    // A forked child may have been interrupted inside the recorder by the signal handler that forked: the new arena
    // takes the old one's place, so that such a frame's pointers stay good.
    const uint64_t allocator_begin = forked ? arena->allocator_begin.load(std::memory_order_relaxed) : 0;
    const uint64_t allocator_end = forked ? arena->allocator_end.load(std::memory_order_relaxed) : 0;
    const uint64_t malloc = forked ? arena->malloc : reinterpret_cast<uint64_t>(find_symbol("malloc", Where::kAfterRecorder));
    const bool replace = forked && welcome.arena_bytes == arena->arena_bytes && !has_gaps_.load(std::memory_order_relaxed);
    const long place = replace ? reinterpret_cast<long>(arena) : loaded_late ? far_from_code(welcome.arena_bytes) : 0;
    const long address =
        kernel::call(SYS_mmap, place, static_cast<long>(welcome.arena_bytes), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_NORESERVE | (place ? MAP_FIXED : 0), fd, 0);
    kernel::call(SYS_close, fd);
    if (kernel::failed(address)) return false;
    arena = reinterpret_cast<wire::ArenaHeader*>(address);
    has_gaps_.store(false, std::memory_order_relaxed);
    if (arena->magic != wire::kMagic || arena->version != wire::kVersion) return false;
    if (forked) { // with the parent's jumps
        arena->allocator_begin.store(allocator_begin, std::memory_order_relaxed);
        arena->allocator_end.store(allocator_end, std::memory_order_relaxed);
    }
    arena->own_ranges = reinterpret_cast<uint64_t>(own_ranges::table());
    arena->malloc = malloc;
    arena->mapped_at.store(reinterpret_cast<uint64_t>(arena), std::memory_order_release);
    set_ticks_per_microsecond(arena->ticks_per_microsecond);
    if (counter_forbidden_.load(std::memory_order_relaxed)) share_time();
    else clock_is_tsc = arena->clock == wire::Clock::kTsc;
    tree.start(reinterpret_cast<wire::StackNode*>(at(arena->nodes_offset)), &arena->node_count,
               arena->max_nodes.load(std::memory_order_relaxed), true);
    footprint::begin(forked);
    return true;
}

bool Session::begin_start() {
    uint32_t expected = kFresh;
    if (!state.compare_exchange_strong(expected, kStarting, std::memory_order_acq_rel)) return false;
    find_directory();
    return true;
}

bool Session::end_start(bool connected) {
    state.store(connected ? kRecording : kOff, std::memory_order_release);
    return connected;
}

void Session::share_time() {
    shared_time = &arena->time;
    arena->counter_forbidden.store(1, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst); // who sees the next word sees the others
    clock_is_tsc = false;
}

void Session::give_up_counter() {
    if (counter_forbidden_.fetch_add(1, std::memory_order_relaxed) > 0) return;
    if (!arena) return; // when there is one, it begins like this
    uint64_t known = arena->time.load(std::memory_order_relaxed);
    const uint64_t time = now() & wire::kTicksMask;
    while (known < time && !arena->time.compare_exchange_weak(known, time, std::memory_order_acq_rel)) {}
    share_time();
}

void Session::take_back_counter() {
    if (counter_forbidden_.fetch_sub(1, std::memory_order_relaxed) > 1 || !arena) return;
    // The pointer to the shared time stays where it can: another thread may be about to look there.
    if (arena->clock == wire::Clock::kTsc) clock_is_tsc = true;
    else shared_time = nullptr;
    arena->counter_forbidden.store(0, std::memory_order_release);
}

void Session::give_back_addresses() {
    // Threads take from both reserves meanwhile, but not that much.
    constexpr uint32_t kSpareChunks = 64, kSpareNodes = 1 << 18;
    is_limited_.store(true, std::memory_order_relaxed);
    if (state.load(std::memory_order_acquire) != kRecording || has_gaps_.exchange(true)) return;
    const auto lower = [](std::atomic<uint32_t>& most, uint32_t wanted) {
        const uint32_t now = most.load(std::memory_order_relaxed);
        if (wanted < now) most.store(wanted, std::memory_order_relaxed);
        return wanted < now ? wanted : now;
    };
    const uint32_t chunks = lower(arena->max_chunks, arena->chunks_used.load(std::memory_order_relaxed) + kSpareChunks);
    const uint32_t nodes = lower(arena->max_nodes, arena->node_count.load(std::memory_order_relaxed) + kSpareNodes);
    tree.lower_capacity(nodes);
    const auto unmap = [](uintptr_t begin, uintptr_t end) {
        begin = kernel::whole_pages(begin);
        end &= ~(kernel::page_bytes() - 1);
        if (begin < end) kernel::unmap(reinterpret_cast<void*>(begin), end - begin);
    };
    const auto node = reinterpret_cast<uintptr_t>(at(arena->nodes_offset));
    unmap(reinterpret_cast<uintptr_t>(chunk(chunks)), node);
    unmap(node + nodes * sizeof(wire::StackNode), reinterpret_cast<uintptr_t>(at(arena->arena_bytes)));
}

void Session::begin_restart() {
    changing_.store(0, std::memory_order_relaxed);
    state.store(kStarting, std::memory_order_release);
    tree.clear();
    mark_process();
}

bool Session::begin_next() {
    constexpr uint64_t kPatience = 300'000'000; // ns: this thread is missing elsewhere
    const uint64_t since = monotonic_ticks();
    state.store(kStarting, std::memory_order_seq_cst);
    if (!is_marked()) {
        // A forked child: the arena is its parent's, and threads that were changing states have stayed there.
        changing_.store(0, std::memory_order_relaxed);
    } else if (arena) {
        arena->stop.store(1, std::memory_order_relaxed);
    }
    while (changing_.load(std::memory_order_seq_cst) > 0) {
        if (monotonic_ticks() - since > kPatience) return false;
        kernel::nap(1);
    }
    epoch.fetch_add(1, std::memory_order_seq_cst);
    tree.clear();
    return true;
}

bool Session::connect_next(bool older_is_held) {
    wire::ArenaHeader* const last = arena;
    const bool is_inherited = !is_marked();
    // Threads keep their states, and so their slots and numbers.
    const uint32_t slots = last && !is_inherited ? last->slots_used.load(std::memory_order_relaxed) : 0;
    const uint32_t threads = last && !is_inherited ? last->threads_begun.load(std::memory_order_relaxed) : 0;
    const bool keeps_older = older_is_held || shared_time || (older_ && older_->imports_patched.load(std::memory_order_relaxed) > 0);
    if (!mark_process() || !connect(false)) return false;
    arena->threads_begun.store(threads, std::memory_order_relaxed);
    arena->slots_used.store(slots < arena->max_slots ? slots : arena->max_slots, std::memory_order_release);
    if (older_ && !keeps_older) kernel::unmap(older_, older_->arena_bytes);
    older_ = last;
    return true;
}

bool Session::connect_child() {
    wire::ArenaHeader* const parents = arena;
    if (connect(true)) return true;
    parents->lost_forks.fetch_add(1, std::memory_order_relaxed);
    if (has_gaps_.load(std::memory_order_relaxed) || !put_aside(parents)) arena = arena_without_room(*parents);
    tree.start(reinterpret_cast<wire::StackNode*>(at(arena->nodes_offset)), &arena->node_count,
               arena->max_nodes.load(std::memory_order_relaxed), false);
    return false;
}

} // namespace memtoll
