//! The list of counts, and the list of metrics.

#[macro_use]
pub(crate) mod counts;
#[macro_use]
pub(crate) mod metric;
pub(crate) mod priced;
pub(crate) mod settled;

use counts::{Adds, CHAPTER, Count, PART, SAMPLED, SUMMARY};
use memtoll_text::amounts::{Amount, Bytes, Units};
use memtoll_text::format::Unit;
use metric::{About, Place, Price, Seen, Together, ending, key};
use priced::Priced;

// What is counted: tag in files, field and name, amount, how it adds up, which blocks of files have it, and whether it
// may be sampled: then all metrics made of it have an error by chance. A new count is an entry here and the line that
// counts it. Files stay readable: a reader goes past columns whose tags it does not know, and a count without a column
// is 0.
counts! {
    /// Blocks acquired by malloc, calloc, aligned forms, operator new, and realloc of a null pointer.
    1 new_blocks: u64 Sum { SUMMARY CHAPTER PART };
    /// Calls of realloc and reallocarray with a block.
    2 reallocations: u64 Sum { SUMMARY CHAPTER PART };
    /// Blocks released, other than by reallocation. Counted at the site that releases.
    3 frees: u64 Sum { SUMMARY CHAPTER PART };
    /// Releases of a null pointer.
    4 null_frees: u64 Sum { SUMMARY CHAPTER PART };
    /// Acquisitions that failed.
    5 failed: u64 Sum { SUMMARY CHAPTER PART };
    /// Bytes of allocations and reallocations (their new sizes).
    6 bytes: Bytes Sum { SUMMARY CHAPTER PART };
    /// Bytes live when the image's live bytes were at their peak.
    7 peak_bytes: Bytes Sum { SUMMARY };
    /// Blocks live then.
    8 peak_blocks: u64 Sum { SUMMARY };
    /// Bytes live at the end.
    9 live_bytes: Bytes Level { SUMMARY CHAPTER };
    /// Blocks live at the end.
    10 live_blocks: u64 Level { SUMMARY CHAPTER PART };
    /// Blocks released before the allocating thread's next allocation.
    11 temporary: u64 Sum { SUMMARY CHAPTER PART };
    /// Sum of the lifetimes of released blocks, units.
    12 lifetime: Units Sum { SUMMARY CHAPTER PART };
    /// Time inside the allocating and releasing functions, units. It contains what was paid inside for faults, mappings
    /// and waiting, and the stamps. A release is charged to the site that allocated the block.
    13 allocator_time: Units Sum { SUMMARY CHAPTER PART };
    /// Calls whose time that is.
    14 timed_calls: u64 Sum { SUMMARY CHAPTER PART };
    /// Minor faults of pages of the site's blocks and mappings.
    15 small_faults: u64 Sum { SUMMARY SAMPLED };
    /// Those of them that happened inside a call of an allocation function.
    16 small_faults_inside: u64 Sum { SUMMARY };
    /// How many of these were sampled one by one, which made them slower.
    17 samples_inside: u64 Sum { SUMMARY };
    /// Minor faults of huge pages.
    18 huge_faults: u64 Sum { SUMMARY SAMPLED };
    /// Those of them that happened inside a call of an allocation function.
    19 huge_faults_inside: u64 Sum { SUMMARY };
    /// Major faults: the pages were read from a disk.
    20 major_faults: u64 Sum { SUMMARY SAMPLED };
    /// Minor faults of pages of files that the site mapped.
    21 file_faults: u64 Sum { SUMMARY SAMPLED };
    /// Time without the processor in major faults outside of the allocating functions, units.
    22 reading_time: Units Sum { SUMMARY };
    /// How often the allocator took memory from the system inside the site's calls.
    23 grown_calls: u64 Sum { SUMMARY };
    /// How much, bytes.
    24 grown_bytes: Bytes Sum { SUMMARY };
    /// Calls of mmap and mremap by which the program took memory, other than files and address space that it cannot use.
    25 mappings: u64 Sum { SUMMARY CHAPTER PART };
    /// How much it asked for, bytes: new sizes, as with reallocations.
    26 mapped_bytes: Bytes Sum { SUMMARY CHAPTER PART };
    /// Time in calls for mappings, units, those inside the allocator included.
    27 mapping_time: Units Sum { SUMMARY };
    /// The share of [`Metrics::allocator_time`] that went into mappings, units.
    28 mapping_inside: Units Sum { SUMMARY };
    /// Time inside the allocating functions spent waiting, units.
    29 waiting_time: Units Sum { SUMMARY };
    /// Time inside the allocating functions without the processor that was no waiting for another thread: preempted or
    /// halted, units.
    30 preempted_time: Units Sum { SUMMARY };
    /// Blocks that were live when the span began that is added up. In the file: those that a process had when memtoll was
    /// attached to it.
    31 live_before: u64 Sum { SUMMARY CHAPTER PART };
    /// Time of the site's releases of known blocks, less the time of the releases, by whatever site, of the site's own blocks:
    /// what [`Metrics::allocator_time`] lacks if each call is charged to the site that makes it. It may be less than 0: it
    /// wraps around. In chapters and their parts only.
    32 release_balance: Units Balance { CHAPTER PART };
    /// Largest block, bytes.
    33 largest_bytes: Bytes Largest { SUMMARY CHAPTER };
    /// Bit n: operation number n was called.
    34 operations: u64 Bits { SUMMARY CHAPTER PART };
    /// Events: calls of allocation functions (a reallocation is one).
    35 events: u64 Sum { SUMMARY CHAPTER PART };
    /// Events whose stack is cut off.
    36 cut_off: u64 Sum { SUMMARY };
    /// Those of the releases whose blocks were not recorded: they are from before the recording.
    37 unknown_frees: u64 Sum { SUMMARY CHAPTER PART };
    /// Blocks from before memtoll was attached that were released: their lifetimes are not known.
    38 freed_ageless: u64 Sum { SUMMARY CHAPTER PART };
    /// Blocks to which nothing points when the process is about to end.
    39 lost_blocks: u64 Sum { SUMMARY };
    /// Their bytes.
    40 lost_bytes: Bytes Sum { SUMMARY };
    /// Blocks to which only lost blocks point.
    41 indirectly_lost_blocks: u64 Sum { SUMMARY };
    /// Their bytes.
    42 indirectly_lost_bytes: Bytes Sum { SUMMARY };
    /// Blocks that can be reached only through pointers into the middle of blocks.
    43 possibly_lost_blocks: u64 Sum { SUMMARY };
    /// Their bytes.
    44 possibly_lost_bytes: Bytes Sum { SUMMARY };
}

// What is shown: option, title, unit, who saw it, how it is priced, how values make one, where it is shown, its value. The
// order is that of JSON, columns and lists. A metric that is a count has its name (see the tests of `metric.rs`).
metrics! {
    /// All that the memory costs: allocator, page faults, mappings, and waiting.
    Cost "cost", "cost": Time, Stamps, Sum, Sum { Viewer Lines Tree Terminal Export Fleet Compared Total Regions } = |m| m.cost_ns().0;
    /// Time inside malloc, free and the like, without page faults, mappings and waiting.
    Allocator "allocator", "allocator": Time, Stamps, Measured, Sum { Viewer Lines Export Fleet Total Regions } = |m| m.allocator_ns.0;
    /// Time of all page faults: their number times what a fault takes in this recording.
    FaultTime "fault-time", "fault time": Time, Faults, Each, Sum { Viewer Lines Tree Export Fleet Total } = |m| m.fault_time_ns.0;
    /// The part of the page faults' time that the kernel spends on clearing fresh pages.
    Zeroing "zeroing", "zeroing": Time, Faults, Each, Sum { Viewer Lines Export Fleet } = |m| m.zeroing_ns.0;
    /// Time in mmap, munmap, mremap, madvise, mprotect and brk, called by the program or by the allocator.
    Mapping "mapping", "mapping": Time, Calls, Measured, Sum { Viewer Lines Export Fleet Total Regions } = |m| m.mapping_ns.0;
    /// Time that threads wait inside the allocator, usually for a lock that another thread holds. Not CPU time.
    Waiting "waiting", "waiting": Time, Switches, Measured, Sum { Viewer Lines Tree Export Fleet TotalIfAny Regions } = |m| m.waiting_ns.0;
    /// Time that threads wait for the disk in major faults. Not CPU time.
    Reading "reading", "reading": Time, Switches, Measured, Sum { Viewer Lines Tree Export Fleet TotalIfAny } = |m| m.reading_ns.0;
    /// Blocks that the program got: calls of malloc, calloc, operator new and the like, and of realloc.
    Allocations "allocations", "allocations": Count, Calls, None, Sum { Viewer Lines Tree Terminal Overview Export Fleet Compared Total Regions Budget } = Priced::allocations;
    /// Blocks that the program got from malloc, calloc, the aligned forms, operator new, and realloc of a null pointer.
    NewBlocks "new-blocks", "allocations": Count, Calls, None, Sum {} = |m| m.new_blocks;
    /// Calls of realloc and reallocarray that resize a block.
    Reallocations "reallocations", "reallocations": Count, Calls, None, Sum { Total } = |m| m.reallocations;
    /// Blocks that this line frees, no matter who allocated them.
    Frees "frees", "frees here": Count, Calls, None, Sum { Viewer Export } = |m| m.frees;
    /// Those of the frees whose blocks were not recorded, as they were allocated before memtoll recorded the process.
    UnknownFrees "unknown-frees", "frees of unknown blocks": Count, Calls, None, Sum {} = |m| m.unknown_frees;
    /// Blocks of this line that were freed or resized, no matter by whom.
    Freed "freed", "freed": Count, Frees, None, Sum { Viewer } = Priced::freed;
    /// Blocks of this line that were freed or resized and whose allocation was recorded: not those from before memtoll was attached.
    FreedWithAge "freed-with-age", "freed, lifetime known": Count, Frees, None, Sum { Viewer } = Priced::freed_with_age;
    /// Calls of free with a null pointer, which do nothing but take time.
    NullFrees "null-frees", "null frees": Count, Calls, None, Sum { Viewer Export Total } = |m| m.null_frees;
    /// Calls that asked for memory and got a null pointer.
    Failed "failed", "failed": Count, Calls, None, Sum {} = |m| m.failed;
    /// Bytes that the program asked for in all, including the new sizes of reallocations.
    Bytes "bytes", "bytes": Bytes, Calls, None, Sum { Viewer Lines Tree Terminal Overview Export Fleet Compared Total Regions Budget } = |m| m.bytes.0;
    /// The size of the largest block.
    Largest "largest", "largest": Bytes, Calls, None, Largest {} = |m| m.largest_bytes.0;
    /// Bytes that were live when the process had the most live bytes.
    Peak "peak", "peak": Bytes, Frees, None, Peak { Viewer Lines Tree Terminal Overview Export Fleet Compared Total Budget } = |m| m.peak_bytes.0;
    /// Bytes that were not freed: at the end, or at the time that you choose.
    Live "live", "live at end": Bytes, Frees, None, Level { Viewer Lines Terminal Overview Export Total Budget } = |m| m.live_bytes.0;
    /// Blocks that were not freed: at the end, or at the time that you choose.
    LiveBlocks "live-blocks", "live blocks": Count, Frees, None, Level { Viewer Export } = |m| m.live_blocks;
    /// Bytes of blocks that nothing points to when the program ends: nothing could free them any more.
    Lost "lost", "lost": Bytes, Search, None, Sum { Export TotalIfAny } = |m| m.lost_bytes.0;
    /// Blocks that nothing points to when the program ends.
    LostBlocks "lost-blocks", "lost blocks": Count, Search, None, Sum {} = |m| m.lost_blocks;
    /// Bytes of blocks that only lost blocks point to.
    IndirectlyLost "indirectly-lost", "indirectly lost": Bytes, Search, None, Sum { TotalIfAny } = |m| m.indirectly_lost_bytes.0;
    /// Blocks that only lost blocks point to.
    IndirectlyLostBlocks "indirectly-lost-blocks", "indirectly lost blocks": Count, Search, None, Sum {} = |m| m.indirectly_lost_blocks;
    /// Bytes of blocks that can be reached only through pointers into the middle of blocks, which may be none.
    PossiblyLost "possibly-lost", "possibly lost": Bytes, Search, None, Sum {} = |m| m.possibly_lost_bytes.0;
    /// Blocks that can be reached only through pointers into the middle of blocks.
    PossiblyLostBlocks "possibly-lost-blocks", "possibly lost blocks": Count, Search, None, Sum {} = |m| m.possibly_lost_blocks;
    /// Blocks that were freed before the thread that allocated them allocated again.
    Temporary "temporary", "temporary": Count, Frees, None, Sum { Viewer Lines Overview Export Total } = |m| m.temporary;
    /// How long blocks live on average, from allocation to free, over the blocks that were freed and whose allocation was recorded.
    Lifetime "lifetime", "lifetime": Time, Frees, Measured, Mean over FreedWithAge { Viewer Lines Overview } = |m| m.lifetime_ns.0;
    /// Page faults of all kinds that call sites pay for. Each one stops the program until the kernel provides the page.
    Faults "faults", "page faults": Count, Faults, None, Sum { Viewer Overview Export Fleet Compared Total Regions Budget } = Priced::faults;
    /// Page faults on memory of blocks and mappings that is touched for the first time. A huge page is one fault.
    MinorFaults "minor-faults", "minor faults": Count, Faults, None, Sum { Regions } = |m| m.small_faults.wrapping_add(m.huge_faults);
    /// Minor faults that provide a huge page (2 MiB).
    HugeFaults "huge-faults", "huge faults": Count, Faults, None, Sum {} = |m| m.huge_faults;
    /// Page faults that read the page from a disk.
    MajorFaults "major-faults", "major faults": Count, Faults, None, Sum {} = |m| m.major_faults;
    /// Page faults on a mapped file whose page is already in memory.
    FileFaults "file-faults", "file faults": Count, Faults, None, Sum {} = |m| m.file_faults;
    /// Calls of mmap and mremap that take memory, and of mprotect that open reserved memory. Files do not count.
    Mappings "mappings", "mappings": Count, Calls, None, Sum { Export } = |m| m.mappings;
    /// Bytes that these calls ask for, including the new sizes of mremap.
    Mapped "mapped", "mapped": Bytes, Calls, None, Sum { Export TotalIfAny } = |m| m.mapped_bytes.0;
    /// Bytes of the pages that the program touched for the first time, in whole pages.
    Touched "touched", "touched": Bytes, Faults, None, Sum { Viewer Overview Export } = |m| m.touched_bytes.0;
    /// Bytes of live blocks that are in memory, at the end or at the look that you choose.
    Resident "resident", "resident": Bytes, Pages, None, Level { Viewer Compared TotalIfAny } = |m| m.resident_bytes.0;
    /// Bytes of live blocks on pages that the process never wrote to, at the end or at the look that you choose.
    NeverTouched "never-touched", "never touched": Bytes, Pages, None, Level { Viewer TotalIfAny } = |m| m.never_touched_bytes.0;
    /// Bytes in memory beside live blocks, at the end or at the look that you choose: the allocator's headers, and what it rounds sizes up to.
    Slack "slack", "slack": Bytes, Units, None, Level { Viewer TotalIfAny } = |m| m.slack_bytes.0;
    /// Free memory that cannot be given back, at the end or at the look that you choose, because live blocks lie on its pages: each line there has an equal share.
    Pinned "pinned", "pinned": Bytes, Units, None, Level { Viewer Compared TotalIfAny } = |m| m.pinned_bytes.0;
    /// Recorded calls of allocation functions; a reallocation is one.
    Events "events", "events": Count, Calls, None, Sum {} = |m| m.events;
    /// Recorded calls whose call stack does not reach the entry of the thread.
    CutOff "cut-off", "cut off": Count, Calls, None, Sum {} = |m| m.cut_off;
}
