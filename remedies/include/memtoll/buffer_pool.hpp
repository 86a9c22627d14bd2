// Buffers of one size, leased and returned: frames of a camera, pages of a file, packets.
//
//     memtoll::buffer_pool pool(1'382'400, 4, {memtoll::exhausted::wait});
//     auto frame = pool.lease();                    // a move-only handle
//     camera.read(frame.data(), frame.size());
//     show(std::move(frame));                       // on any thread; where the handle ends, the buffer is back
//
// Where malloc takes a block of that size from the system, it comes page by page, with a fault and zeroing for each, and goes
// back when it is freed: again and again. glibc does so above 32 MiB; below, from 128 KiB on, only until the first such block
// is freed, and where M_MMAP_THRESHOLD is set or the heap shrinks behind freed blocks. A pool takes its memory once. A
// buffer's pages fault when it is first used, and not again, as long as the memory of idle buffers is kept. README.md says
// what that gains, and when nothing.
//
// Buffers are aligned to pages, and hold what was last written to them.
//
// Threads: buffer_pool is shared. lease() and the end of a lease are wait-free as long as a buffer is free: at most one
// read and one exchange of a byte for each buffer of the pool, usually for one. What they are not wait-free in: the
// system calls of grow and of idle memory; waiting; waking somebody who waits (a lock). A lease finds the pool exhausted if
// each buffer was leased, or was being trimmed, at the moment when it was looked at. local_buffer_pool is for one thread at
// a time: no locks, and no atomic operations as long as a buffer is free and idle memory is kept.
//
//     memtoll::local_buffer_pool pages(4096, 16);    // the same for one thread
//
// In a recording of memtoll, leased buffers are blocks, charged to the line that leases (MEMTOLL_OWN_POOLS in
// detail/own_pool.hpp: on unless NDEBUG is defined).
//
// The pool must outlive its leases. When no lease begins any more and leased() is 0, all have ended and the pool may be
// destroyed; with exhausted::wait it must also outlive the calls that end leases: they may still be waking somebody.
#pragma once

#include <memtoll/detail/own_pool.hpp>
#include <memtoll/detail/slot_set.hpp>
#include <memtoll/detail/system_memory.hpp>
#include <memtoll/region.hpp>

#include <atomic>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>

namespace memtoll {

// What lease() does when all buffers are leased.
enum class exhausted {
    fail, // returns an empty handle
    wait, // until one is returned
    grow, // takes a buffer from the system, which goes back there
};

struct buffer_pool_options {
    exhausted when_exhausted = exhausted::fail;
    // What becomes of the memory of idle buffers: purge::keep, or lazy or now (region.hpp has the prices) when they were
    // idle for this time: checked when a buffer is returned, and in trim().
    //
    //     memtoll::buffer_pool frames(bytes, 4, {memtoll::exhausted::fail, memtoll::purge::lazy, 10s});
    purge idle = purge::keep;
    std::chrono::nanoseconds idle_after{0};
    pages kind = pages::normal;
};

// `Shared`: whether threads share the pool. `Memory` is the system; tests put one there that fails.
template <bool Shared = true, class Memory = detail::system_memory> class basic_buffer_pool {
public:
    using clock = std::chrono::steady_clock;

    // The right to use a buffer, until it is destroyed. Move-only; empty if there was no buffer.
    class buffer {
    public:
        buffer() noexcept = default;
        buffer(buffer&& other) noexcept
            : pool_(std::exchange(other.pool_, nullptr)), data_(std::exchange(other.data_, nullptr)), slot_(other.slot_) {}
        buffer& operator=(buffer&& other) noexcept {
            buffer taken(std::move(other));
            std::swap(pool_, taken.pool_);
            std::swap(data_, taken.data_);
            std::swap(slot_, taken.slot_);
            return *this;
        }
        ~buffer() { reset(); }

        std::byte* data() const noexcept { return data_; }
        std::size_t size() const noexcept { return pool_ ? pool_->buffer_bytes() : 0; }
        explicit operator bool() const noexcept { return data_ != nullptr; }

        // Returns the buffer now.
        void reset() noexcept {
            if (pool_) pool_->give_back(data_, slot_);
            pool_ = nullptr;
            data_ = nullptr;
        }

    private:
        friend basic_buffer_pool;
        buffer(basic_buffer_pool* pool, std::byte* data, std::size_t slot) noexcept : pool_(pool), data_(data), slot_(slot) {}
        basic_buffer_pool* pool_ = nullptr;
        std::byte* data_ = nullptr;
        std::size_t slot_ = 0;
    };

    // Takes address space and promised memory for `capacity` buffers of `bytes`, rounded up to pages, in one system call;
    // pages come when they are touched. Throws std::bad_alloc, or std::invalid_argument for sizes of 0, and for a pool of
    // one thread that would wait for itself.
    basic_buffer_pool(std::size_t bytes, std::size_t capacity, buffer_pool_options options = {})
        : bytes_(bytes), stride_(detail::round_up(bytes, Memory::page())), options_(options),
          all_bytes_(checked(bytes, stride_, capacity, options)), free_(capacity), slots_(std::make_unique<slot[]>(capacity)) {
        memory_ = static_cast<std::byte*>(Memory::take(all_bytes_, options.kind));
        if (!memory_) throw std::bad_alloc();
        detail::pool_begins("buffer_pool", memory_, all_bytes_);
    }
    basic_buffer_pool(const basic_buffer_pool&) = delete;
    basic_buffer_pool& operator=(const basic_buffer_pool&) = delete;
    ~basic_buffer_pool() {
        assert(leased() == 0 && "a lease outlives its pool");
        detail::pool_ends(memory_);
        Memory::release(memory_, all_bytes_);
    }

    std::size_t buffer_bytes() const noexcept { return bytes_; }
    std::size_t capacity() const noexcept { return free_.count(); }
    // How many buffers are leased, those beyond the capacity included, and those that are being trimmed: exact if no thread
    // leases, returns or trims meanwhile. O(capacity).
    std::size_t leased() const noexcept { return capacity() - free_.free() + beyond_.load(std::memory_order_acquire); }
    // How often a lease found no free buffer.
    std::size_t times_exhausted() const noexcept { return times_exhausted_.load(std::memory_order_relaxed); }

    // A buffer, as the options say when there is none. O(capacity), usually O(1). Throws std::bad_alloc when the
    // system has no memory for one beyond the capacity, or for one whose memory had gone back; then nothing has changed.
    buffer lease() {
        if (buffer found = try_lease()) return found;
        times_exhausted_.fetch_add(1, std::memory_order_relaxed);
        switch (options_.when_exhausted) {
        case exhausted::fail: return {};
        case exhausted::wait: return wait_for_one();
        case exhausted::grow: break;
        }
        return one_more();
    }

    // A buffer, or an empty handle if none is free, whatever the options say. Throws as lease() does.
    //
    //     if (auto spare = frames.try_lease()) read_ahead(std::move(spare));
    buffer try_lease() {
        const std::size_t found = free_.take();
        return found == none ? buffer() : committed(found);
    }

    // Gives back the memory of buffers that were idle for as long as the options say; O(capacity), a system call for each
    // of them. Returning a buffer does this, too, at most once in that time: call it where nothing is returned for long.
    //
    //     frames.trim();    // say, once a second while the camera is off
    void trim(clock::time_point now = clock::now()) noexcept {
        if (options_.idle == purge::keep) return;
        for (std::size_t i = capacity(); i-- > 0;) {
            if (!free_.take(i)) continue;
            if (slots_[i].used && now - slots_[i].returned >= options_.idle_after) give_memory_back(i);
            return_slot(i);
        }
    }

private:
    using slot_set = detail::slot_set<Shared>;
    static constexpr std::size_t none = slot_set::none;

    // Belongs to whoever has taken the slot.
    struct slot {
        clock::time_point returned{};
        bool used = false;        // since it gave its memory back
        bool decommitted = false; // must be committed before it is used
    };

    // The bytes of all buffers together.
    static std::size_t checked(std::size_t bytes, std::size_t stride, std::size_t capacity, const buffer_pool_options& options) {
        if (bytes == 0 || capacity == 0) throw std::invalid_argument("memtoll::buffer_pool: no buffers, or empty ones");
        if (!Shared && options.when_exhausted == exhausted::wait)
            throw std::invalid_argument("memtoll::local_buffer_pool: no other thread could return a buffer");
        if (stride < bytes || capacity > static_cast<std::size_t>(-1) / 2 / stride) throw std::bad_alloc();
        return detail::round_up(stride * capacity, Memory::granularity());
    }

    std::byte* data_of(std::size_t index) const noexcept { return memory_ + index * stride_; }

    // The lease of a slot that the caller has taken. Where there is no memory for it, somebody else may try.
    buffer committed(std::size_t index) {
        if (slots_[index].decommitted) {
            if (!Memory::commit(data_of(index), stride_, options_.kind)) {
                return_slot(index);
                throw std::bad_alloc();
            }
            slots_[index].decommitted = false;
        }
        detail::handed_out(data_of(index), bytes_);
        return buffer(this, data_of(index), index);
    }

    [[gnu::noinline]] buffer one_more() {
        void* const data = Memory::take(beyond_bytes(), options_.kind);
        if (!data) throw std::bad_alloc();
        beyond_.fetch_add(1, std::memory_order_relaxed);
        detail::handed_out(data, bytes_);
        return buffer(this, static_cast<std::byte*>(data), none);
    }
    std::size_t beyond_bytes() const noexcept { return detail::round_up(stride_, Memory::granularity()); }

    // Whoever waits says so before looking again, and whoever returns a buffer does that before asking who waits. So one
    // of the two sees the other.
    [[gnu::noinline]] buffer wait_for_one() {
        struct waiter {
            explicit waiter(std::atomic<std::size_t>& count) noexcept : count_(count) { count_.fetch_add(1); }
            ~waiter() { count_.fetch_sub(1); }
            std::atomic<std::size_t>& count_;
        };
        std::unique_lock lock(mutex_);
        const waiter here(waiting_);
        std::size_t found;
        while ((found = free_.take()) == none) returned_.wait(lock);
        lock.unlock(); // return_slot() locks
        return committed(found);
    }

    // Unless somebody may wait, the last thing that is done with the pool is to make the slot free.
    void return_slot(std::size_t index) noexcept {
        const bool may_be_awaited = Shared && options_.when_exhausted == exhausted::wait;
        free_.give(index);
        if (!may_be_awaited || waiting_.load() == 0) return;
        const std::lock_guard lock(mutex_);
        returned_.notify_one();
    }

    void give_back(std::byte* data, std::size_t index) noexcept {
        detail::taken_back(data);
        if (index == none) {
            Memory::release(data, beyond_bytes());
            beyond_.fetch_sub(1, std::memory_order_release);
            return;
        }
        if (options_.idle != purge::keep) becomes_idle(index);
        return_slot(index);
    }

    void becomes_idle(std::size_t index) noexcept {
        slots_[index].used = true;
        if (options_.idle_after.count() == 0) return give_memory_back(index);
        const clock::time_point now = clock::now();
        slots_[index].returned = now;
        trim_if_due(now);
    }

    void give_memory_back(std::size_t index) noexcept {
        if (options_.idle == purge::lazy) Memory::reset(data_of(index), stride_);
        else Memory::decommit(data_of(index), stride_);
        slots_[index].decommitted = options_.idle == purge::now;
        slots_[index].used = false;
    }

    void trim_if_due(clock::time_point now) noexcept {
        clock::duration trimmed = trimmed_.load(std::memory_order_relaxed);
        if (now.time_since_epoch() - trimmed < options_.idle_after) return;
        if (trimmed_.compare_exchange_strong(trimmed, now.time_since_epoch(), std::memory_order_relaxed)) trim(now);
    }

    const std::size_t bytes_;
    const std::size_t stride_; // of buffers in memory_: whole pages
    const buffer_pool_options options_;
    const std::size_t all_bytes_;
    slot_set free_;
    const std::unique_ptr<slot[]> slots_;
    std::byte* memory_ = nullptr;

    std::atomic<std::size_t> beyond_{0};
    std::atomic<std::size_t> times_exhausted_{0};
    std::atomic<clock::duration> trimmed_{clock::duration::zero()}; // when trim_if_due() last did, since the clock's epoch

    std::atomic<std::size_t> waiting_{0};
    std::mutex mutex_;
    std::condition_variable returned_;
};

using buffer_pool = basic_buffer_pool<true>;
using local_buffer_pool = basic_buffer_pool<false>;

} // namespace memtoll
