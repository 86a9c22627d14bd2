//! The objects. Bytes are called so, and times end with `_ns`.

use super::declare::sent;
use serde_json::Value;
use std::collections::BTreeMap;

sent! {
    /// What the recording is, its time line, and the table of metrics.
    AboutPack {
        about: About,
        metrics: Value as "Metric[]",
        timeline: Intervals,
        /// Equal parts of the time, between which a mouse selects.
        parts: u32,
        /// Whether there is a recording before it that it is compared with.
        compares: bool,
        /// Whether the text of source files is shown.
        sources: bool,
        /// A link with `{file}` and `{line}` that opens an editor; empty: none.
        editor: String,
        /// Of a recording that is being made: how often its file was opened.
        live: Option<u32>,
        /// Whether a thread set regions, and marks.
        regions: bool,
        marks: bool,
    }

    /// The recording as a whole.
    About {
        file: String,
        command: String,
        started: String,
        duration_ns: Option<f64>,
        processor: String,
        processors: u32,
        /// Which allocators answered; empty: not known.
        malloc: String,
        /// What is said of blocks that are live at the end.
        kept: &'static str,
        events: Option<u64>,
        processes: Vec<ProcessOfRun>,
        process_count: usize,
        threads: Vec<ThreadOfRun>,
        thread_count: usize,
        /// What cannot be read, because the file is damaged or was cut off.
        damage: Vec<String>,
        /// What was not recorded, whatever is selected.
        missing: Vec<String>,
        /// Notes about the whole recording.
        notes: Vec<String>,
    }

    /// A process image that can be chosen.
    ProcessOfRun {
        pid: u32,
        /// What selects its process and no other.
        id: String,
        /// Its place among all, or that of what its process ran first.
        process: usize,
        parent: u32,
        program: String,
        command: String,
        began_ns: f64,
        ended_ns: Option<f64>,
        /// How it ended; empty: the recording was cut off before.
        exit: String,
        threads: usize,
    }

    /// A thread that can be chosen.
    ThreadOfRun { pid: u32, process: usize, tid: u32, name: Option<String>, }

    /// The intervals of the time line.
    Intervals {
        end_ns: f64,
        interval_ns: f64,
        /// Whether it is the sum of the highest of each of several processes.
        sum_of_peaks: bool,
        /// Whether it is known of all processes.
        known: bool,
        /// The largest resident set, bytes, where the curve misses it because it was between two looks.
        resident_between_looks: Option<Estimated>,
    }

    /// Live bytes, allocations and page faults over time; marks and regions.
    ActivityPack {
        start_ns: u64,
        interval_ns: f64,
        /// Whether what is live is known.
        sees_live: bool,
        damage: Vec<String>,
        marks: Vec<String>,
        regions: Vec<String>,
        /// Marks and regions for which there was no room.
        left_out: usize,
        region_count: usize,
        /// All runs of regions, by name, also those that were left out.
        spreads: Vec<RegionSpread>,
    }

    /// How long the runs of a region took: the median, the 99th percentile, the longest, and all of them.
    RegionSpread { name: String, count: usize, median_ns: f64, p99_ns: f64, worst_ns: f64, total_ns: f64, }

    /// A metric over time, divided among functions or types: a column for each, which add up.
    StackedPack {
        start_ns: f64,
        interval_ns: f64,
        /// Whether values are what is live when most is, not what happens in an interval.
        is_live: bool,
        groups: Vec<StackedGroup>,
        /// Why there are none; empty: there are.
        why: String,
        damage: Vec<String>,
    }

    /// A function or a type.
    StackedGroup {
        name: String,
        /// Of a function, its name with parameters and all template arguments.
        full: String,
        /// Its loaded file.
        module: String,
        /// Of the others together, how many they are.
        others: Option<usize>,
    }

    /// Call stacks of a thread in the order of time.
    StackChartPack {
        /// `None`: no thread has any of the metric.
        thread: Option<LaneOfThread>,
        /// How many other threads have some of it.
        others: usize,
        /// Why there is none; empty: there is, or nothing is selected.
        why: String,
        texts: Vec<String>,
        damage: Vec<String>,
    }

    /// Who holds the resident set of a process, and a map of its pages.
    ResidentPack {
        /// `None`: it was not looked at.
        resident: Option<ResidentSet>,
        /// Why not; empty: it was.
        why: String,
        /// Bytes of a cell of the map.
        cell: u64,
        areas_left_out: usize,
        /// Files that have cells.
        files: Vec<String>,
        texts: Vec<String>,
    }

    /// A resident set, bytes.
    ResidentSet {
        pid: u32,
        /// What selects its process and no other.
        id: String,
        program: String,
        allocator: String,
        at_ns: u64,
        /// All looks at the process, by time.
        looks: Vec<LookOfResident>,
        rss: u64,
        /// The kernel's own figure.
        kernel: u64,
        swapped: u64,
        never_touched: u64,
        live_blocks: u64,
        /// They add up to `rss`.
        parts: Vec<PartOfResident>,
        pins: Vec<PinOfResident>,
        /// Most first; empty: they are little.
        globals: Vec<GlobalOfResident>,
        globals_left_out: usize,
        /// The function whose blocks, with those of what it calls, keep nearly all that is pinned, and what would come back.
        held_below: Option<HeldBelowOfResident>,
        /// What would make it smaller, what saves most first.
        wastes: Vec<WasteOfResident>,
        /// Sentences about that; empty: not known of this allocator.
        on_wastes: Vec<String>,
        /// What small pages would keep out of memory; empty: malloc has no huge ones.
        huge_pages: String,
        /// That it was larger when memtoll did not look; empty: this is not the highest look, or it was not.
        missed_peak: String,
        /// Other processes with a look.
        others: usize,
    }

    /// A look at a process's pages, and what it is called: `end`, `peak`, `asked`, a mark or a size.
    LookOfResident { at_ns: u64, name: String, rss: u64, }

    /// A part of a resident set; `None`: it is in another part.
    PartOfResident { name: String, title: String, bytes: Option<u64>, }

    /// A line that pins free memory. `frame`: number plus one; 0: none.
    PinOfResident { frame: u32, share: u64, alone: u64, blocks: u64, bytes: u64, median_age_ns: u64, }

    /// A global variable: how much of it is in memory. `place`: its source file and line; empty: not known.
    GlobalOfResident { symbol: String, module: String, place: String, bytes: u64, size: Option<u64>, }
    /// What would make a resident set smaller: what it saves and what to do, in words. `frame`: as of a line that pins.
    WasteOfResident { frame: u32, saves: String, remedy: String, }

    /// A function, and what comes back without its blocks.
    HeldBelowOfResident { function: String, alone: u64, }

    /// What is worth a look in a selection, the most important first.
    FindingsPack { findings: Value as "Finding[]", }

    /// What to change, as `memtoll advise --format json` has it.
    AdvicePack { advice: Value as "Advised", }

    /// Sums and call sites of a selection; in a page, with its call tree and findings.
    ProfilePack {
        totals: Totals,
        balance: Balance,
        memory: Memory,
        /// `None`: a server is asked for them.
        findings: Option<Value> as "Finding[] | null",
        wrappers: Option<Wrappers>,
        damage: Vec<String>,
        /// What was not recorded of the selected processes and of the whole recording.
        missing: Vec<String>,
        /// Notes about the selection and about the whole recording.
        notes: Vec<String>,
        types: Vec<String>,
        /// How many call sites the last one stands for; 0: it is one.
        site_others: usize,
        texts: Vec<String>,
    }

    /// The same of a part of the time, in a page: the numbers of the whole's rows.
    SlicePack {
        totals: Totals,
        balance: Balance,
        memory: Memory,
        wrappers: Option<Wrappers>,
        damage: Vec<String>,
        slice: Slice,
    }

    /// A part of the time.
    Slice { from_ns: f64, to_ns: f64, }

    /// All sums together, by metric.
    Totals {
        values: BTreeMap<String, Option<f64>>,
        /// Where the true values are in 95 of 100 recordings.
        intervals: BTreeMap<String, [f64; 2]>,
        /// What the peak is: `exact`, `at most`, or `added up` from peaks at different instants.
        peak_is: &'static str,
        processes: usize,
        /// What metrics are called here, where that is not their title.
        titles: BTreeMap<String, Titles>,
    }

    /// What a metric is called.
    Titles {
        of_all: &'static str,
        in_rows: &'static str,
    }

    /// The program's CPU time, and what of it is charged to no call stack, ns; null: not known. What is charged is in the totals. Where a
    /// filter is set, the CPU time is that of all call stacks.
    Balance {
        /// Not more than 0: the program does not run, or the recorder takes about as much.
        processor: Option<Estimated>,
        plain: Option<Estimated>,
        other_faults: Option<Estimated>,
        /// By chance, ns squared.
        other_faults_variance: f64,
        recorder: Option<Estimated>,
        rest: Option<Estimated>,
    }

    /// A number, and where the true one is in 95 of 100 recordings.
    Estimated { value: f64, low: f64, high: f64, }

    /// What is in memory, and what is only mapped, bytes; null: not known, as of a part of the time.
    Memory { resident: Option<Estimated>, at_end: Option<Estimated>, with_mappings: Option<Estimated>, reserved: Option<Estimated>, }

    /// Functions that allocate on behalf of others.
    Wrappers {
        functions: Vec<String>,
        /// The sentence that says that they are folded away; null: they are shown.
        folded: Option<String>,
    }

    /// Sums by thread or process.
    GroupsPack {
        labels: Vec<String>,
        /// Who each row is.
        members: Vec<Member>,
        site_others: usize,
        damage: Vec<String>,
        /// What metrics are called here, where that is not their title.
        titles: BTreeMap<String, Titles>,
    }

    /// A process image, by its place among all, or a thread of it; `None`: neither.
    Member { image: Option<usize>, pid: Option<u32>, tid: Option<u32>, }

    /// Sizes, lifetimes and growth of blocks, by call site.
    PatternsPack {
        damage: Vec<String>,
        /// Unit of the lifetimes of cells, ns.
        cell_unit: f64,
    }

    /// A level of a call tree.
    LevelPack { labels: Vec<String>, texts: Vec<String>, }

    /// What changed, as a tree of both sides.
    ChangedTreesPack { before_texts: Vec<String>, after_texts: Vec<String>, }

    /// What changed, by call site.
    ChangesPack {
        rows: Vec<ChangedRow>,
        /// How many rows are left out.
        others: usize,
        /// What both sides are called; null: they are spans of one recording.
        files: Option<[String; 2]>,
    }

    /// A call site before and after.
    ChangedRow {
        function: String,
        full: Option<String>,
        file: Option<String>,
        line: Option<u32>,
        module: Option<String>,
        module_name: Option<String>,
        unique_module: Option<String>,
        /// Other loaded files have a function of its name.
        shared: bool,
        /// Other loaded files have it from the same source file.
        shared_source: bool,
        /// The type of its blocks.
        kind: Option<String>,
        fate: String as "\"changed\" | \"new\" | \"gone\"",
    }

    /// Threads over time.
    LanesPack {
        lanes: Vec<LaneOfThread>,
        /// How many threads there are.
        count: usize,
        start_ns: f64,
        interval_ns: f64,
        sees_switches: bool,
        times_faults: bool,
        /// How many waits there are.
        waits: usize,
        damage: Vec<String>,
    }

    /// Whose lane it is.
    LaneOfThread { image: usize, process: usize, pid: u32, tid: Option<u32>, name: Option<String>, }

    /// What is live at the end of the selected time, by when it was acquired.
    GenerationsPack {
        at_ns: f64,
        /// When each generation begins but the first.
        begins_ns: Vec<f64>,
        /// The marks with which they begin.
        marks: Vec<Option<String>>,
        damage: Vec<String>,
        types: Vec<String>,
        site_others: usize,
        texts: Vec<String>,
    }

    /// Where live blocks lie at an instant.
    MapPack {
        at_ns: f64,
        /// What selects its process; null: none had begun then.
        process: Option<String>,
        processes: Vec<LiveProcess>,
        /// Bytes of a cell.
        cell: u64,
        live: u64,
        blocks: usize,
        areas_left_out: usize,
        damage: Vec<String>,
        types: Vec<String>,
        texts: Vec<String>,
    }

    /// A process, and about how many bytes were live in it.
    LiveProcess { id: String, program: String, live: u64, }

    /// The blocks of a range of addresses.
    BlocksPack { blocks: usize, live: u64, types: Vec<String>, texts: Vec<String>, }

    /// Types of the blocks, and how one lies in memory.
    LayoutPack {
        types: Vec<ListedType>,
        layout: Value as "Layout | null",
        /// The file that has it, if it is newer than the recording.
        newer: Option<String>,
        why: String,
        /// Types that may be meant, where none is called so.
        similar: Vec<String>,
    }

    /// A type of the selected blocks, and bytes of these.
    ListedType {
        name: String,
        /// The type that is asked for: what a container holds.
        asked: String,
        peak: u64,
        live: u64,
    }

    /// Functions, and what they cost.
    FunctionsPack {
        /// Functions that the last row stands for; 0: there are none.
        others: usize,
        damage: Vec<String>,
        texts: Vec<String>,
    }

    /// A source file, and what its lines cost.
    SourcePack {
        /// null: it is not shown, and `why` says why.
        text: Option<String>,
        why: Option<String>,
        /// Whether it was changed after the recording began.
        is_newer: bool,
        /// The functions of the lines of `through`.
        functions: Vec<String>,
    }

    /// Source files of a page, by path.
    SourcesPack { sources: BTreeMap<String, SourceText>, }

    /// A source file.
    SourceText { text: String, is_newer: bool, }

    /// The table of metrics of the recording before: its prices are its own.
    MetricsPack { metrics: Value as "Metric[]", }

    /// What a page does not have.
    NothingPack {}
}
