// The shared memory through which the recorder, inside the target, hands events to the supervisor.
//
// One arena per process image (a fork or an exec gets a new one). The supervisor creates it as a memfd, fills in the
// configuration and passes the descriptor over a socket; the recorder maps it and closes the descriptor, because the
// target may close, reuse or count its descriptors as it likes.
//
//   offset 0        ArenaHeader
//   slots_offset    ThreadSlot[max_slots]     one per thread that records at the same time
//   chunks_offset   Chunk[max_chunks]         fixed size, owned by one slot each, drained and recycled
//   nodes_offset    StackNode[max_nodes]      the stack tree, append only
//
// This is not the file format (that is format/FORMAT.md): both ends come out of the same build, kVersion only guards
// against mixing builds. crates/record/src/wire.rs mirrors this file: its test has the C++ compiler hold every field's place
// and size, every number of an enumeration and every constant against it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memtoll::wire {

inline constexpr uint64_t kMagic = 0x6c6c6f746d656d01; // "\1memtoll"
inline constexpr uint32_t kVersion = 11;

inline constexpr uint32_t kChunkBytes = 64 * 1024;
inline constexpr uint32_t kRecordBytes = 32;
// The first record's place holds the chunk's header.
inline constexpr uint32_t kRecordsPerChunk = kChunkBytes / kRecordBytes - 1;
inline constexpr uint32_t kNoChunk = UINT32_MAX;
// Chunks that stay in the program's memory: 1.25 MiB, and 128 KiB for each thread after the first. Others are for bursts.
// While no thread writes into one of those, only the supervisor has it in memory.
inline constexpr uint32_t kKeptChunks = 20;
inline constexpr uint32_t kKeptForFurtherThread = 2;
inline constexpr uint32_t kept_chunks(uint32_t slots_used) {
    return kKeptChunks + (slots_used > 0 ? slots_used - 1 : 0) * kKeptForFurtherThread;
}

// What a record is. Values from 1 to 127 are hooked functions (hooks.def); these are the rest.
enum Kind : uint8_t {
    kPadding = 0,        // fills the end of a chunk before a blob that does not fit there
    kReallocFrom = 128,  // precedes realloc, reallocarray or mremap: address and size given back
    kLongDuration = 129, // precedes an event longer than 2^32 - 1 ticks: address = the duration in ticks
    kThreadBegin = 130,  // from here on this slot's events belong to: address = pthread_self(), size = thread number,
                         // node = kernel thread id
    kThreadEnd = 131,    // the thread is gone; the slot will be reused. address = ticks that the recorder took from it
    kModule = 132,       // blob: ModuleBlob, then the path
    kThreadName = 133,   // blob: ThreadNameBlob, then the name
    kMark = 134,         // blob: MarkBlob, then the name
    kExec = 135,         // blob: ExecBlob, then the path about to be executed
    kExit = 136,         // address = the status passed to exit()
    kBreak = 138,        // the call before it, of the same node, moved the end of the heap: address = where it is now,
                         // size = where it was
    kUsage = 139,        // blob: UsageBlob. Each replaces the one before it of the same scope and thread
    kFilled = 140,       // a call filled memory at once: address = page faults that the kernel counted in it
    // Of the program's own allocators (memtoll.h). They count from when they begin.
    kPoolAlloc = 141,       // a block was handed out
    kPoolFree = 142,        // a block is given back
    kPoolReallocFrom = 143, // precedes kPoolRealloc: the block that is given back
    kPoolRealloc = 144,
    kPoolBegin = 145, // blob: PoolBlob, then the name
    kPoolEnd = 146,   // address = the chunk's
    kLateFile = 147,  // blob: the path of a file whose constructors ran before its calls were seen
};

// Layout of a record (bit 0 is the least significant):
//
//   head     63                                     8 7      0
//           +----------------------------------------+--------+
//           | ticks, modulo 2^56                      | kind   |   when the real call was entered
//           +----------------------------------------+--------+
//   address | 63..0                                           |
//           +---------------------------+---------------------+
//   size    | 63..48 detail             | 47..0 size in bytes |   detail: log2 alignment, mmap or madvise flags
//           +---------------------------+---------------------+
//   tail    | 63..32 duration in ticks  | 31..0 stack node    |
//           +---------------------------+---------------------+
//
// A blob record has its payload's length in `size` and is followed by the payload in whole records.
struct Record {
    uint64_t head;
    uint64_t address;
    uint64_t size;
    uint64_t tail;
};
static_assert(sizeof(Record) == kRecordBytes);

inline constexpr unsigned kTicksShift = 8;
inline constexpr unsigned kDurationShift = 32;
inline constexpr uint64_t kTicksMask = (uint64_t{1} << 56) - 1;
inline constexpr uint64_t kSizeMask = (uint64_t{1} << 48) - 1;
inline constexpr unsigned kDetailShift = 48;

struct Chunk {
    std::atomic<uint32_t> next; // the slot's next chunk, set before the slot's `published` moves there
    std::atomic<uint32_t> next_free;
    uint32_t unused[6];
    Record records[kRecordsPerChunk];
};
static_assert(sizeof(Chunk) == kChunkBytes);

// What a slot's guard says beside where the hook is.
enum GuardBits : uint64_t {
    kRecorderAtWork = 1, // and not the real function that the hook forwards to
    kCountsAtEnd = 2,    // the real function is at work, and the event counts from its return: from later than now
};

enum Waiting : uint64_t {
    kNotWaiting = 0,
    kWaitsInEvent = 1, // there may be an event that has begun and is not yet written
    kWaitsBetween = 2, // there is none: whatever this thread writes later, happens later
};

// One thread's end of the log: a chain of chunks, each filled completely before the next. `published` is the address, in
// the target, behind the last finished record; all records before it, in this and earlier chunks, are finished too.
struct alignas(64) ThreadSlot {
    // 0 outside the recorder; otherwise the hook's stack address, a multiple of 16, and GuardBits.
    std::atomic<uint64_t> guard;
    std::atomic<uint64_t> published;
    std::atomic<uint32_t> first_chunk; // its number + 1
    uint32_t unused;
    std::atomic<uint64_t> waiting; // for a chunk: one of Waiting
    // The rest is brought up to date every 64 events or so and when the thread ends or calls exit. It counts for all
    // threads that the slot served, one after the other.
    // Events not counted here were answered by the prediction table.
    std::atomic<uint64_t> walks;         // stacks found by walking frames (method 1)
    std::atomic<uint64_t> walked_frames; // frames looked at in those walks
    std::atomic<uint32_t> full_walks;    // stacks that needed every register
    std::atomic<uint32_t> rule_misses;   // unwinding rules read from .eh_frame
    std::atomic<uint64_t> recorder_ticks; // spent in the recorder, estimated from samples; without ArenaHeader::wait_ticks
    std::atomic<uint64_t> overlap_pairs;  // calls compared (stamp_overlap.hpp)
    std::atomic<int64_t> overlap_ticks;   // by which these were shorter, all together
};
static_assert(sizeof(ThreadSlot) == 128);

// The stack tree. Node ids below kFirstNode are roots: they say how a stack ends.
enum Root : uint32_t {
    kNoStack = 0,
    kRootComplete = 1,     // reached the thread's entry
    kRootNoRule = 2,       // truncated: code without unwinding information
    kRootTooDeep = 3,      // truncated: more frames than --stack-depth
    kRootBadFrame = 4,     // truncated: the unwinding information led outside the stack
    kRootTreeFull = 5,     // truncated: no room for new nodes
    kFirstNode = 8,
};

// A frame under its caller. `key` is written last and never 0: bit 63 whether the caller was found without unwind tables, bits
// 62..48 module number, bits 47..0 the address of the call (return address minus one) or, for a frame interrupted by a signal, of
// the next instruction.
struct StackNode {
    std::atomic<uint64_t> key;
    uint32_t parent;
    uint32_t unused;
};
static_assert(sizeof(StackNode) == 16);

inline constexpr unsigned kModuleShift = 48;
inline constexpr uint64_t kAddressMask = (uint64_t{1} << kModuleShift) - 1;
inline constexpr uint64_t kWithoutTables = uint64_t{1} << 63;

struct ModuleBlob {
    uint64_t start, end; // address range of the mapping, bytes
    uint64_t bias;       // difference between addresses in memory and in the file
    uint32_t number;
    uint32_t build_id_bytes;
    uint8_t build_id[32];
    uint64_t functions_hash; // of files without a build id: what tells them apart (modules.cpp); 0: not known
};

struct ThreadNameBlob {
    uint64_t handle; // pthread_t
};

struct MarkBlob {
    enum Type : uint32_t { kInstant = 0, kBegin = 1, kEnd = 2 };
    uint32_t type;
    uint32_t unused;
};

struct PoolBlob {
    uint64_t chunk; // its address
    uint64_t bytes;
    uint32_t node; // stack node of the call
    uint32_t unused;
};

struct ExecBlob {
    enum Reason : uint32_t {
        kRecordable = 0,
        kStatic = 1,
        kForeignClass = 2, // 32-bit, or another machine's
        kForeignLibc = 3,
        kSetuid = 4,
        kNoPreload = 5, // the recorder's file is not visible from here (chroot)
        kUnknown = 6,
        kSanitizer = 7, // its runtime library must be loaded before any other
        kNotStarted = 8, // the call announced by the last blob with this path has failed: nothing was executed
    };
    uint32_t pid; // of the process that calls exec: may be a vfork child
    uint32_t reason;
};

// What the kernel counted for a thread or the whole process since it began, across exec; see getrusage(2).
struct UsageBlob {
    enum Scope : uint32_t { kThread = 0, kProcess = 1 };
    uint64_t user_ns, system_ns;
    uint64_t minor_faults, major_faults;
    uint64_t voluntary_switches, involuntary_switches;
    // Of a process: its largest resident set without the recorder, 0 if that is not known; what the recorder had besides
    // at that time; and by how much both may be wrong. Then the program's resident set now, and by how much that may be
    // wrong. 0 for a thread.
    uint64_t program_rss_kib, recorder_rss_kib, rss_error_kib;
    uint64_t program_now_kib, now_error_kib;
    uint32_t scope;
    uint32_t tid; // of the thread that asked
};
static_assert(sizeof(UsageBlob) == 96);

// Records that a thread writes between two calls of publish(), blobs apart: kReallocFrom, kLongDuration, the event, kBreak.
// A thread's chunk has room for them whenever an event begins. So no thread ever waits for a chunk with an
// event in its hands, which would hold up all events that came after it, and with them the chunks that it waits for.
inline constexpr uint32_t kMostRecords = 4;

enum class Clock : uint32_t { kTsc = 0, kMonotonic = 1 };

// What a process that is about to end waits for.
enum Look : uint32_t {
    kPages = 1,
    kLostBlocks = 2,
};

// Whether calls are recorded. Where memtoll attaches, they are from one instant on: no thread is inside the allocator then, and the
// blocks from before are those that its heap has (threads/recording_start.hpp).
enum Start : uint32_t {
    kStarted = 0,
    kNotYet = 1,  // calls are not recorded
    kHeld = 2,    // the jumps are written: a thread waits before its first call, unless that is a part of an earlier one
    kTooLate = 3, // a thread has waited for too long: calls are recorded, and blocks from before are not known
};

struct ArenaHeader {
    // Written by the supervisor before the arena is handed over.
    uint64_t magic;
    uint32_t version;
    uint32_t max_slots;
    uint64_t arena_bytes;
    uint64_t slots_offset;
    uint64_t chunks_offset;
    uint64_t nodes_offset;
    std::atomic<uint32_t> max_chunks; // lowered by the recorder when it gives addresses back
    std::atomic<uint32_t> max_nodes;
    uint32_t stack_depth; // frames
    Clock clock;
    uint32_t image; // the supervisor's number for this process image
    uint32_t ticks_per_microsecond; // of the clock
    uint32_t searches_leaks; // 1: the process waits at its end until its memory has been searched for lost blocks

    // Supervisor to recorder.
    alignas(64) std::atomic<uint32_t> stop;       // 1: record nothing more
    std::atomic<uint32_t> heartbeat;              // grows while the supervisor lives
    std::atomic<uint32_t> chunk_limit;            // chunks that may be in use now, at most max_chunks
    std::atomic<uint32_t> supervisor_sleeps;      // ring the doorbell after this many more full chunks; 0: it is awake
    std::atomic<uint32_t> chunk_returned;         // futex: grows with each recycled chunk
    std::atomic<uint32_t> start;                  // a Start; a futex
    // Where memtoll is attached: the code of the C library's allocator, and where signal handlers return to.
    std::atomic<uint64_t> allocator_begin, allocator_end;
    std::atomic<uint64_t> signal_return;

    // Recorder to supervisor.
    alignas(64) std::atomic<uint64_t> free_chunks; // (tag << 32) | chunk, kNoChunk for none: a stack
    std::atomic<uint64_t> mapped_at;               // the arena's address in the target; it has arena_bytes there
    std::atomic<uint32_t> chunks_used;             // chunks that were ever handed out
    std::atomic<uint32_t> slots_used;
    std::atomic<uint32_t> node_count;
    std::atomic<uint32_t> doorbell;         // futex
    std::atomic<uint32_t> threads_begun;    // thread numbers handed out
    std::atomic<uint32_t> waits;            // how often a thread waited for a chunk
    std::atomic<uint64_t> wait_ticks;       // for how long, all threads together
    std::atomic<uint32_t> lost_forks;       // forked children that could not reach the supervisor
    std::atomic<uint32_t> nested;           // events of signal handlers that interrupted the recorder at work
    std::atomic<uint64_t> dropped;          // events not recorded because the supervisor was gone or the log was full
    std::atomic<uint32_t> own_allocator;    // 1: the executable defines malloc itself; its own calls are not seen
    std::atomic<uint32_t> imports_patched;  // calls of other files to that allocator which now pass through the hooks
    std::atomic<uint32_t> imports_not_patched; // calls that stay unseen: there was no table for them
    std::atomic<uint32_t> namespaces_unknown;  // libraries opened by dlmopen of which the loader does not tell
    std::atomic<uint64_t> unwind_checked;   // CHECK_UNWIND only
    std::atomic<uint64_t> unwind_disagreed;
    std::atomic<uint64_t> burst_chunks; // free chunks beyond those that are kept: a stack like free_chunks
    std::atomic<uint64_t> filled_pages; // of the recorder's, that came many at once: the kernel shows no faults of them
    // What the recorder had in memory when it last looked, for a supervisor that says what the program had when it was killed.
    // KiB: its own in bits 31..0, the program's unwinding tables that it has read in bits 63..32.
    std::atomic<uint64_t> own_memory;
    uint64_t own_ranges; // where the process has the table of the recorder's other memory: OwnRange[kMostOwnRanges]
    uint64_t malloc;     // the address of the malloc that the program would call without the recorder; its file's module is announced

    // Where the process may not read the processor's counter: the time, in ticks. Each look at it makes it one later, so
    // that all stamps of the process are in order; the supervisor sets it to the true time again and again.
    alignas(64) std::atomic<uint64_t> time;
    std::atomic<uint32_t> counter_forbidden; // 1: `time` is used

    // A process that is about to end waits until its memory has been looked at.
    std::atomic<uint32_t> look_wanted;   // Look: for what it waits; 0: it does not
    std::atomic<uint32_t> look_at_end;   // AtEnd, and a futex
    std::atomic<uint32_t> ending_thread; // the kernel's id of the thread that ends it
    std::atomic<uint64_t> ending_stack;  // from where up that thread's stack is the program's, with the registers that calls preserve

    // A thread that is about to give memory back waits until the pages have been looked at, if the resident set has more than this
    // (KiB; 0: nobody looks).
    std::atomic<uint32_t> look_before_giving_back; // BeforeGivingBack, and a futex
    std::atomic<uint32_t> look_above_kib;
};

enum AtEnd : uint32_t {
    kAwaited = 0,
    kLookedAt = 1, // or it need not be
    kGivenUp = 2,  // the supervisor showed no sign of life
};

enum BeforeGivingBack : uint32_t {
    kNoLook = 0,    // or it is over
    kLookAsked = 1, // a thread waits
    kLooking = 2,   // the supervisor looks
};

// Memory that the recorder has mapped for itself. None where the start is 0.
struct OwnRange {
    std::atomic<uint64_t> start, bytes;
};
inline constexpr uint32_t kMostOwnRanges = 256;

// Why a process calls the supervisor.
enum Purpose : uint32_t {
    kProgram = 0, // a new process image
    kFork = 1,    // the same, by a fork without exec of image `parent_image`
    kFile = 2,    // it is about to load a file, of which a descriptor is attached; it waits until the supervisor hangs up
    kPlan = 3,    // it asks how to redirect the allocators that it has mapped (hooks/own_allocators.hpp)
};

// Hooks for functions of any allocator: what is called there, and which arguments say what, a Redirected tells. They differ in
// how many arguments they pass on, and in where the block is found.
enum OwnHook : uint32_t {
    kOwnAcquire = 0,       // three arguments, returns a block
    kOwnAcquireWide = 1,   // five
    kOwnReallocate = 2,    // five; the block that is given back is one of them
    kOwnRelease = 3,       // three
    kOwnPosixMemalign = 4, // the block is where the first argument points
    kOwnXallocx = 5,       // jemalloc's: the block stays where it is, its new size is returned
    kOwnHooks = 6,
};

// What a process says to the supervisor, and what it hears back (with the arena's descriptor attached).
struct Hello {
    uint64_t magic;
    uint32_t version;
    uint32_t purpose;      // Purpose
    uint32_t parent_image; // of a fork
    uint32_t pid;          // in the target's own pid namespace
    uint64_t address_space_limit; // bytes: RLIMIT_AS, or less under Valgrind
    uint64_t stamp_ticks;
    uint64_t token[2]; // proves that the sender was loaded from this run's private directory
    uint64_t own_hooks[kOwnHooks]; // where the hooks lie, for a plan
    // Of a process that was running when the recorder was loaded (hooks/late_start.cpp): where the list of all functions is that
    // are to be redirected to exported hooks, an Interposed each, and how many there are. The supervisor then writes the jumps
    // itself, while no thread runs. 0: import tables lead to these hooks.
    uint64_t interposed;
    uint64_t interposed_count;
    uint64_t finder; // the function that memtoll.h asks for the others, which it could not find when the program began
    uint64_t forked_at; // of a fork: when, ticks; 0: not known
};

// A function that a preloaded recorder interposes.
struct Interposed {
    uint64_t function;
    uint64_t bytes; // of its code
    uint64_t hook;
    uint32_t kind;  // of its events; 0: it has none
    uint32_t unused;
};

struct Welcome {
    uint64_t magic;
    uint32_t version;
    uint32_t accepted; // 0: run unrecorded
    uint64_t arena_bytes;
};

// -- attaching again ---------------------------------------------------------------------------------------------------
// The variable memtoll_recorder_order of a recorder that memtoll attach has loaded. A later memtoll writes here and sends a thread to
// memtoll_recorder_attach_again.
struct AttachOrder {
    std::atomic<uint32_t> is_loaded; // 1 once the loader has finished with the library
    std::atomic<uint32_t> is_busy;   // 1 while a thread carries out an order
    std::atomic<uint32_t> is_given;  // 1 until a thread begins to carry it out; each is carried out once, by whichever thread comes
    std::atomic<uint32_t> is_done;
    uint32_t result; // an AttachResult, valid when it is done
    uint32_t most_stack_depth; // frames that this recorder has room for
    char directory[248]; // the private directory of the run
};

enum AttachResult : uint32_t {
    kAttached,
    kUnreachable, // the supervisor does not answer
    kNoMemoryForStack, // the system gives no memory
    kBusy,             // threads are at work for the last supervisor
};

// -- plans -----------------------------------------------------------------------------------------------------------
// How to redirect functions that no import table leads to, such as those of an allocator inside an executable. The supervisor
// makes the code for that; the recorder puts it where the plan says, if what is there is what the plan expects. A Welcome comes
// first, with the plan's bytes as `arena_bytes` (0: nothing is to be done) and its descriptor; the answer is a byte for each
// region, a Placed. The plan: PlanHeader, PlanRegion[regions], PlanFunction[functions]; code from a page's begin on.

struct PlanHeader {
    uint64_t magic;
    uint32_t regions;
    uint32_t functions;
};

// Memory near a module, whose content stands in the plan: its code is executed there as it is.
struct PlanRegion {
    uint64_t address;
    uint64_t offset; // of the content in the plan, bytes; 0: an earlier plan has put the same content there
    uint64_t bytes;
    uint32_t first_function; // of those that are redirected through it
    uint32_t functions;
};

inline constexpr uint32_t kMostPatched = 16;

struct PlanFunction {
    uint64_t entry;    // address of the function
    uint64_t original; // what does as it did before
    uint64_t at;       // the bytes that change
    uint32_t bytes;
    uint32_t pushes_return; // 1: the original makes calls that no shadow stack knows
    uint8_t before[kMostPatched];
    uint8_t after[kMostPatched];
};

// What a hook is told of the function that was called.
struct Redirected {
    uint64_t original;
    uint8_t kind;      // of the event: a hooked function (hooks.def)
    uint8_t allocator; // its number in this run, from 1 on
    uint8_t size;      // which argument is the size; kNoArgument: none
    uint8_t count;     // which is multiplied with it
    uint8_t alignment; // which is the alignment, bytes
    uint8_t flags;     // which are jemalloc's flags: the logarithm of the alignment in bits 5..0
    uint8_t block;     // which is the block that is given back
    uint8_t unused;
};
inline constexpr uint8_t kNoArgument = 255;

enum Placed : uint8_t {
    kPlaced = 0,
    kPlacedBefore = 1, // by an earlier plan
    kOtherCode = 2,    // what is there was not expected: another tool has been at work
    kNoMemory = 3,     // the system allows no code there
    kNotWritable = 4,  // the system allows no change of the program's code
    kShadowStack = 5,  // the processor watches calls
};

// Of an event of the heap, bits 7..0 of the detail are the alignment's logarithm, and bits 15..8 the allocator's number; 0 is
// the one that calls through import tables reach.
inline constexpr unsigned kAllocatorShift = kDetailShift + 8;

} // namespace memtoll::wire
