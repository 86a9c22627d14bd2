// A console host without its window: fills a text buffer of 9,001 rows with what it reads and prints a checksum of it.
// Standard error has what making the buffer cost, and how a row is laid out.
#include "cost.hpp"
#include "decoder.hpp"
#include "interpreter.hpp"
#include "options.hpp"
#include "resident.hpp"
#include "text_buffer.hpp"

#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace {

constexpr std::uint16_t kRows = 9001; // the original's default: the most that its settings allow

void print_start_up(const Cost& cost, long resident_kib_before) {
    const double cpu = cost.cpu_ms();
    const long faults = cost.minor_faults();
    std::fprintf(stderr, "start-up %.3f ms CPU, %ld minor faults, %ld KiB resident\n", cpu, faults,
                 resident_kib() - resident_kib_before);
}

bool read_into(TextBuffer& buffer, int input) {
    Interpreter interpreter(buffer);
    Decoder decoder;
    unsigned char piece[16384];
    ssize_t bytes;
    while ((bytes = read(input, piece, sizeof piece)) > 0)
        for (ssize_t i = 0; i < bytes; ++i) decoder.feed(piece[i], [&](char32_t c) { interpreter.take(c); });
    return bytes == 0;
}

} // namespace

int main(int argc, char** argv) {
    const Options options = parse_options(argc, argv);
    const int input = options.file ? open(options.file, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (input < 0) {
        std::perror(options.file);
        return 1;
    }
    const long resident = resident_kib();
    const Cost cost;
    TextBuffer buffer(kRows, options.columns, TextAttribute{});
    print_start_up(cost, resident);
    ROW::print_layout();
    if (!read_into(buffer, input)) {
        std::perror("read");
        return 1;
    }
    std::fprintf(stderr, "with the text %ld KiB resident\n", resident_kib() - resident);
    std::printf("%016llx after %llu rows scrolled\n", static_cast<unsigned long long>(buffer.checksum()),
                static_cast<unsigned long long>(buffer.rows_scrolled()));
    return 0;
}
