// Large buffers in all ways: taken, written from end to end and given back; and only taken and given back, on one thread and
// on two. Frames of a camera, 1,382,400 bytes, and large ones of 40 MiB.
//
// What malloc costs depends on whether glibc keeps such blocks. At first it maps each block of 128 KiB and more, and unmaps
// it when it is freed. But it learns: when one of at most 32 MiB is freed, the next one comes from the heap. In a loop as
// simple as the ones here it then keeps them. It does not learn where M_MMAP_THRESHOLD is set, and what it has learnt does
// not help where the end of the heap becomes free again and again (casestudies/camera). So tools/bench-remedies runs this as
// programs start, and with GLIBC_TUNABLES=glibc.malloc.mmap_threshold=131072.
#include <memtoll/buffer_pool.hpp>

#include <benchmark/benchmark.h>
#include <boost/pool/pool.hpp>

#include <cstdlib>
#include <cstring>
#include <memory_resource>
#include <mutex>

namespace {

constexpr std::size_t kFrame = 1'382'400, kLarge = 40 << 20, kBuffers = 4;

template <std::size_t Bytes> struct c_malloc {
    void* take() { return std::malloc(Bytes); }
    void give(void* block) { std::free(block); }
};

template <std::size_t Bytes> struct pmr_synchronized_pool {
    std::pmr::synchronized_pool_resource pool{{kBuffers, Bytes}};
    void* take() { return pool.allocate(Bytes, 4096); }
    void give(void* block) { pool.deallocate(block, Bytes, 4096); }
};

// Boost's pool knows no threads; its users lock it.
template <std::size_t Bytes> struct boost_pool {
    std::mutex mutex;
    boost::pool<> pool{Bytes, kBuffers};
    void* take() {
        const std::lock_guard lock(mutex);
        return pool.malloc();
    }
    void give(void* block) {
        const std::lock_guard lock(mutex);
        pool.free(block);
    }
};

template <std::size_t Bytes, bool Shared> struct ours {
    using pool_type = memtoll::basic_buffer_pool<Shared>;
    pool_type pool{Bytes, kBuffers};
    typename pool_type::buffer take() { return pool.lease(); }
    void give(typename pool_type::buffer&) {}
};
template <std::size_t Bytes> struct local_buffer_pool : ours<Bytes, false> {};
template <std::size_t Bytes> struct buffer_pool : ours<Bytes, true> {};

void* address(void* block) { return block; }
template <class Buffer> void* address(const Buffer& buffer) { return buffer.data(); }

template <class Way> void write_all(benchmark::State& state, std::size_t bytes) {
    Way way;
    for (auto _ : state) {
        auto buffer = way.take();
        std::memset(address(buffer), 1, bytes);
        benchmark::ClobberMemory();
        way.give(buffer);
    }
}
template <template <std::size_t> class Way> void frame(benchmark::State& state) { write_all<Way<kFrame>>(state, kFrame); }
template <template <std::size_t> class Way> void large(benchmark::State& state) { write_all<Way<kLarge>>(state, kLarge); }

template <class Way> void only_take(benchmark::State& state) {
    static Way way;
    for (auto _ : state) {
        auto buffer = way.take();
        benchmark::DoNotOptimize(address(buffer));
        way.give(buffer);
    }
}
template <template <std::size_t> class Way> void take_and_give(benchmark::State& state) { only_take<Way<kFrame>>(state); }

BENCHMARK(frame<c_malloc>);
BENCHMARK(frame<pmr_synchronized_pool>);
BENCHMARK(frame<boost_pool>);
BENCHMARK(frame<local_buffer_pool>);
BENCHMARK(frame<buffer_pool>);
BENCHMARK(large<c_malloc>);
BENCHMARK(large<buffer_pool>);
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
