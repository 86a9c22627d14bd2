// Serialises pages of objects to text, on one thread or on several. Each page has its slice of one output, so threads
// share nothing but the number of the next page, and whatever the writer of an object shares behind its back.
#include "memtoll.h"
#include "object.hpp"
#include "options.hpp"
#include "slice.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <pthread.h>
#include <sys/resource.h>
#include <thread>

namespace {

class Output {
public:
    Output(std::size_t pages, std::size_t bytes_a_page)
        : _text(std::make_unique_for_overwrite<char[]>(pages * bytes_a_page)) {
        _slices.reserve(pages);
        for (std::size_t i = 0; i < pages; ++i) _slices.emplace_back(_text.get() + i * bytes_a_page, bytes_a_page);
    }
    Slice& of_page(std::size_t page) { return _slices[page]; }
    const std::vector<Slice>& slices() const { return _slices; }
    void clear() {
        for (Slice& slice : _slices) slice.clear();
    }

private:
    std::unique_ptr<char[]> _text;
    std::vector<Slice> _slices;
};

void write_page(Writer write, const Page& page, Slice& result) {
    memtoll_region_begin("page");
    Slice slice = result; // on this thread's stack: neighbours in the output share cache lines
    for (const Object& object : page) write(object, slice);
    result = slice;
    memtoll_region_end("page");
}

void serialize_sequentially(Writer write, const std::vector<Page>& pages, Output& output) {
    for (std::size_t i = 0; i < pages.size(); ++i) write_page(write, pages[i], output.of_page(i));
}

void serialize_in_parallel(Writer write, const std::vector<Page>& pages, Output& output, unsigned threads) {
    std::atomic<std::size_t> next{0};
    auto work = [&] {
        pthread_setname_np(pthread_self(), "worker");
        for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < pages.size();)
            write_page(write, pages[i], output.of_page(i));
    };
    std::vector<std::jthread> workers;
    workers.reserve(threads);
    for (unsigned i = 0; i < threads; ++i) workers.emplace_back(work);
}

// FNV-1a of the whole text, and its length.
struct Sum {
    std::uint64_t hash = 0xcbf29ce484222325;
    std::size_t bytes = 0;
};

Sum sum_of(const Output& output) {
    Sum sum;
    for (const Slice& slice : output.slices()) {
        for (const char c : slice.text()) sum.hash = (sum.hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
        sum.bytes += slice.text().size();
    }
    return sum;
}

double milliseconds(timeval time) {
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
}

} // namespace

int main(int argc, char** argv) {
    const Options options = parse_options(argc, argv);
    memtoll_mark("start");
    const std::vector<Page> pages = make_pages(options.pages, options.objects);
    Output output(pages.size(), options.objects * kMostBytesOfAnObject);

    for (unsigned run = 0; run < options.repeat; ++run) {
        output.clear();
        rusage before, after;
        getrusage(RUSAGE_SELF, &before);
        const auto start = std::chrono::steady_clock::now();
        if (options.threads == 1) serialize_sequentially(options.writer, pages, output);
        else serialize_in_parallel(options.writer, pages, output, options.threads);
        const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - start;
        getrusage(RUSAGE_SELF, &after);
        std::fprintf(stderr, "%s, %u thread%s: %.1f ms; CPU %.1f ms user, %.1f ms system; switched off %ld times\n",
                     options.writer_name, options.threads, options.threads == 1 ? "" : "s", wall.count(),
                     milliseconds(after.ru_utime) - milliseconds(before.ru_utime),
                     milliseconds(after.ru_stime) - milliseconds(before.ru_stime),
                     after.ru_nvcsw - before.ru_nvcsw + after.ru_nivcsw - before.ru_nivcsw);
    }

    const Sum sum = sum_of(output);
    std::printf("%zu bytes, checksum %016llx\n", sum.bytes, static_cast<unsigned long long>(sum.hash));
    return 0;
}
