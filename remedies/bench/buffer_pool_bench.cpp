// Frames of a camera, 1,382,400 bytes, in all ways: taken, written from end to end and given back; and only taken and given
// back, on one thread and on two.
#include <memtoll/buffer_pool.hpp>

#include <benchmark/benchmark.h>
#include <boost/pool/pool.hpp>

#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <memory_resource>
#include <mutex>

namespace {

constexpr std::size_t kBytes = 1'382'400, kBuffers = 4;

// malloc takes blocks from 128 KiB on from the system, as in programs where glibc never learns to keep those of this size
// (casestudies/camera says which these are); in a loop as simple as the one below it would.
[[maybe_unused]] const int never_learns = mallopt(M_MMAP_THRESHOLD, 128 << 10);

struct c_malloc {
    void* take() { return std::malloc(kBytes); }
    void give(void* block) { std::free(block); }
};

struct pmr_synchronized_pool {
    std::pmr::synchronized_pool_resource pool{{kBuffers, kBytes}};
    void* take() { return pool.allocate(kBytes, 4096); }
    void give(void* block) { pool.deallocate(block, kBytes, 4096); }
};

// Boost's pool knows no threads; its users lock it.
struct boost_pool {
    std::mutex mutex;
    boost::pool<> pool{kBytes, kBuffers};
    void* take() {
        const std::lock_guard lock(mutex);
        return pool.malloc();
    }
    void give(void* block) {
        const std::lock_guard lock(mutex);
        pool.free(block);
    }
};

template <bool Shared> struct ours {
    using pool_type = memtoll::basic_buffer_pool<Shared>;
    pool_type pool{kBytes, kBuffers};
    typename pool_type::buffer take() { return pool.lease(); }
    void give(typename pool_type::buffer&) {}
};
using local_buffer_pool = ours<false>;
using buffer_pool = ours<true>;

void* address(void* block) { return block; }
template <class Buffer> void* address(const Buffer& buffer) { return buffer.data(); }

template <class Way> void frame(benchmark::State& state) {
    Way way;
    for (auto _ : state) {
        auto buffer = way.take();
        std::memset(address(buffer), 1, kBytes);
        benchmark::ClobberMemory();
        way.give(buffer);
    }
}

template <class Way> void take_and_give(benchmark::State& state) {
    static Way way;
    for (auto _ : state) {
        auto buffer = way.take();
        benchmark::DoNotOptimize(address(buffer));
        way.give(buffer);
    }
}

BENCHMARK(frame<c_malloc>);
BENCHMARK(frame<pmr_synchronized_pool>);
BENCHMARK(frame<boost_pool>);
BENCHMARK(frame<local_buffer_pool>);
BENCHMARK(frame<buffer_pool>);
BENCHMARK(take_and_give<c_malloc>);
BENCHMARK(take_and_give<pmr_synchronized_pool>);
BENCHMARK(take_and_give<boost_pool>);
BENCHMARK(take_and_give<local_buffer_pool>);
BENCHMARK(take_and_give<buffer_pool>);
BENCHMARK(take_and_give<c_malloc>)->Threads(2);
BENCHMARK(take_and_give<pmr_synchronized_pool>)->Threads(2);
BENCHMARK(take_and_give<boost_pool>)->Threads(2);
BENCHMARK(take_and_give<buffer_pool>)->Threads(2);

} // namespace
