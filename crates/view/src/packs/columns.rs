//! The columns.

use super::declare::columns;

columns! {
    /// Live bytes over the whole recording.
    TimelineColumns {
        /// The most in each interval, bytes. Of several processes, the sum of the highest of each.
        live,
    }

    /// What happens in each interval.
    ActivityColumns {
        /// The most live bytes.
        live,
        /// Allocations.
        allocations,
    }

    /// Where the kernel shows page faults.
    FaultColumns {
        /// Page faults in each interval.
        faults,
    }

    /// Where memtoll looked at the resident set.
    ResidentColumns {
        /// Bytes in memory, the most in each interval; NaN: it had not looked yet.
        resident,
    }

    /// Marks.
    MarkColumns {
        /// When, ns.
        at,
    }

    /// Runs of regions.
    RegionColumns {
        /// From when on, ns.
        begin,
        /// Until when, ns.
        end,
    }

    /// Frames: numbers of texts, and 0 for none.
    FrameColumns {
        /// Number in the recording.
        id,
        /// Name without parameters.
        function,
        /// Name with parameters and all template arguments.
        full,
        /// Name without parameters, with all template arguments.
        qualified,
        /// What to write behind the name of one of several functions that share it: parameters, or what else tells it apart.
        parameters,
        /// Path of the source file.
        file,
        /// Line in it, and no text; 0: not known.
        line,
        /// Loaded file.
        module,
        /// What it is called: its name, with as many folders as tell it from the others.
        module_name,
        /// What tells its loaded file from the others: its name or, if several have that name, its path.
        unique_module,
        /// 1: other loaded files have a function of its name; else 0.
        shared,
        /// 1: other loaded files have it from the same source file; else 0.
        shared_source,
        /// 1: no unwind tables, so that the caller is less sure; else 0.
        without_tables,
    }

    /// Call sites. The last one stands for the others, if there are some.
    SiteColumns {
        /// Number of the frame plus one; 0: none.
        frame,
        /// Number of the type plus one; 0: not known.
        kind,
        /// How many of the frames in `inlined_frames` it has: into which the first is inlined.
        inlined,
        /// Numbers of frames, those of one site behind those of the one before.
        inlined_frames,
        /// Bytes of an element; 0: not known.
        element,
        /// How many elements a block has room for; 0: not known.
        elements,
    }

    /// Parts of the time of a stack chart.
    ChartColumns {
        /// From when on, ns.
        begin,
        /// Until when, ns.
        end,
        /// What the thread has of the metric in it, in the metric's unit.
        value,
    }

    /// Frames of a stack chart: callers come before what they call.
    BarColumns {
        /// The caller, from 1; 0: the outermost frame.
        caller,
        /// Number of the frame.
        frame,
        /// The first column.
        first,
        /// The first one behind it.
        behind,
        /// What call stacks with this frame and these callers have of the metric in these columns, in the metric's unit.
        value,
    }

    /// Call sites of a map of memory, with most bytes first.
    MapSiteColumns {
        /// Number of the frame plus one; 0: none.
        frame,
        /// Live bytes.
        live,
        /// Live blocks.
        blocks,
    }

    /// Areas of a map of pages.
    PageAreaColumns {
        /// First address.
        from,
        /// How many cells.
        cells,
        /// Bytes in memory.
        resident,
    }

    /// Cells of such a map that are in memory, and bytes of them by what holds them.
    PageCellColumns {
        /// Its number, those of all areas one behind the other.
        number,
        live,
        slack,
        pinned,
        free_pages,
        mappings,
        stacks,
        globals,
        files,
        recorder,
        other,
        /// Number of the owner plus one; 0: none.
        owner,
    }

    /// Who has memory: a line or a file.
    PageOwnerColumns {
        /// Number of the frame plus one; 0: none.
        frame,
        /// Number of the file plus one; 0: none.
        file,
    }

    /// Call trees: callers come before what they call.
    TreeColumns {
        /// The caller.
        parent,
        /// Number of the frame plus one; 0: none.
        frame,
        /// Call paths that a node stands for; 0: it is one frame.
        others,
    }

    /// Levels of a call tree.
    LevelColumns {
        /// The caller.
        parent,
        /// Number of the frame plus one; 0: none.
        frame,
        /// Call paths that a node stands for; 0: it is one frame.
        others,
        /// 1: it has children that are not in the pack.
        more,
        /// Number of the label plus one; 0: it is a frame.
        label,
    }

    /// Two call trees as one.
    ChangedTreeColumns {
        /// The caller.
        parent,
        /// Number of the frame plus one; 0: none.
        frame,
        /// Whose frame: 0 before, 1 after.
        side,
        /// Call paths that a node stands for; 0: it is one frame.
        others,
        /// How wide it is drawn, in the metric's unit.
        width,
        /// The metric before.
        before,
        /// The metric after.
        after,
        /// Half of the 95 % interval of the metric before; 0 of what is counted.
        before_margin,
        /// Half of the 95 % interval of the metric after; 0 of what is counted.
        after_margin,
    }

    /// Rows of what changed. Behind them stand, in families, those not shown, what is in no row, and the whole.
    ChangeColumns {
        /// 1: it is more than chance.
        exceeds,
    }

    /// Threads over time: for each thread, the thousandths of each interval.
    LaneColumns {
        /// In which it was there.
        alive,
        /// In the allocator.
        allocator,
        /// In page faults.
        faulting,
        /// Waiting in the allocator.
        waiting,
        /// Off the processor.
        off,
    }

    /// Single waits in the allocator.
    WaitColumns {
        /// The lane of the thread that waited.
        lane,
        /// The lane of the thread in the allocator plus one; 0: none.
        holder,
        /// From when on, ns.
        began,
        /// Until when, ns.
        ended,
    }

    /// How call sites use memory.
    PatternColumns {
        /// Times that a block grew.
        grown_steps,
        /// Blocks that grew.
        grown_blocks,
        /// Blocks that another thread released.
        elsewhere,
        /// Threads that acquire.
        acquiring,
    }

    /// Buckets of histograms.
    HistogramColumns {
        /// The call site.
        site,
        /// Lowest value, bytes or ns.
        low,
        /// Highest value, bytes or ns.
        high,
        /// How many.
        count,
    }

    /// Released blocks by size and lifetime.
    SizeLifetimeColumns {
        /// The call site.
        site,
        /// Bits of the size.
        size,
        /// Bits of the lifetime, in units of the recording.
        lifetime,
        /// How many.
        count,
    }

    /// Areas of addresses.
    AreaColumns {
        /// First address.
        from,
        /// How many cells it has.
        cells,
        /// Live bytes.
        live,
        /// Live blocks.
        blocks,
    }

    /// Cells of a map that are not empty.
    CellColumns {
        /// Number among all cells.
        number,
        /// Live bytes.
        live,
        /// The call site, from 1; 0: the filter leaves it out.
        site,
        /// Age of the largest block, ns.
        age,
    }

    /// Blocks of a range of addresses.
    BlockColumns {
        /// First address.
        address,
        /// Bytes.
        size,
        /// Age, ns.
        age,
        /// The call site, from 1; 0: the filter leaves it out.
        site,
    }

    /// Functions.
    FunctionColumns {
        /// Number of a frame of it plus one; 0: of calls without a stack, or, behind all others, of functions that are not shown.
        frame,
        /// Loaded files that have a function of this name.
        modules,
    }

    /// Lines of a source file.
    LineColumns {
        /// Number of the line.
        line,
    }

    /// Rows of a part of the time.
    PartColumns {
        /// Which of the whole's rows.
        index,
    }
}
