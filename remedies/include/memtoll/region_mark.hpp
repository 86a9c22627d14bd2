// A region of time in a recording of memtoll, as long as this object lives: `memtoll report --regions` says what each
// frame, level or request cost.
//
//     void draw() {
//         const memtoll::region_mark mark("frame");
//         ...
//     }
//
// The C functions behind it are in memtoll.h. Without the recorder a mark costs two comparisons. Regions may nest; one
// belongs to the thread that made it. Throws nothing.
#pragma once

#include <memtoll.h>

namespace memtoll {

class region_mark {
public:
    // `name` must live as long as the mark; null marks nothing.
    explicit region_mark(const char* name) noexcept : name_(name) {
        if (name_) memtoll_region_begin(name_);
    }
    region_mark(const region_mark&) = delete;
    region_mark& operator=(const region_mark&) = delete;
    ~region_mark() { end(); }

    // Ends the region before the object does.
    void end() noexcept {
        if (name_) memtoll_region_end(name_);
        name_ = nullptr;
    }

private:
    const char* name_;
};

} // namespace memtoll
