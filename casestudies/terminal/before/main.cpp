// A console host without its window: fills a text buffer of 9,001 rows with what it reads and prints a checksum of it.
//
//   terminal [FILE]        (standard input without FILE)
#include "text_buffer.hpp"

#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace {

constexpr std::uint16_t kRows = 9001; // the original's default: the most that its settings allow
constexpr std::uint16_t kColumns = 120;

// UTF-8, a byte at a time: text arrives in pieces that end anywhere.
class Decoder {
public:
    template <class Sink> void feed(unsigned char byte, Sink sink) {
        if (_missing > 0 && (byte & 0xc0) == 0x80) {
            _value = _value << 6 | (byte & 0x3f);
            if (--_missing == 0) sink(_value);
            return;
        }
        if (_missing > 0) sink(char32_t{0xfffd}); // cut short
        _missing = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0;
        _value = _missing > 0 ? byte & (0x3f >> _missing) : byte;
        if (_missing == 0) sink(byte < 0x80 ? _value : char32_t{0xfffd});
    }

private:
    char32_t _value = 0;
    int _missing = 0;
};

// What a console does with the characters: most are text, some are escape sequences. Of these only the one that sets
// colours (ESC [ 3 1 m) means something here; the others are swallowed.
class Interpreter {
public:
    explicit Interpreter(TextBuffer& buffer) : _buffer(buffer) {}

    void take(char32_t c) {
        switch (_state) {
        case State::text:
            if (c == 0x1b) _state = State::escape;
            else _buffer.write(c);
            return;
        case State::escape:
            _state = c == U'[' ? State::parameters : State::text;
            _parameter = 0;
            return;
        case State::parameters:
            if (c >= U'0' && c <= U'9') {
                _parameter = (_parameter * 10 + (c - U'0')) % 1000;
                return;
            }
            if (c == U'm' || c == U';') draw_with(_parameter);
            _parameter = 0;
            if (c >= 0x40) _state = State::text;
            return;
        }
    }

private:
    void draw_with(std::uint32_t parameter) {
        if (parameter == 0) _attribute = {};
        if (parameter == 1) _attribute.style = 1;
        if (parameter >= 30 && parameter < 38) _attribute.foreground = kPalette[parameter - 30];
        if (parameter >= 40 && parameter < 48) _attribute.background = kPalette[parameter - 40];
        _buffer.set_attribute(_attribute);
    }

    static constexpr std::uint32_t kPalette[8] = {0x0c0c0c, 0xc50f1f, 0x13a10e, 0xc19c00,
                                                  0x0037da, 0x881798, 0x3a96dd, 0xcccccc};
    enum class State { text, escape, parameters } _state = State::text;
    TextBuffer& _buffer;
    TextAttribute _attribute;
    std::uint32_t _parameter = 0;
};

} // namespace

int main(int argc, char** argv) {
    const int input = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (input < 0) {
        std::perror(argv[1]);
        return 1;
    }
    TextBuffer buffer(kRows, kColumns, TextAttribute{});
    Interpreter interpreter(buffer);
    Decoder decoder;
    unsigned char piece[16384];
    ssize_t bytes;
    while ((bytes = read(input, piece, sizeof piece)) > 0)
        for (ssize_t i = 0; i < bytes; ++i) decoder.feed(piece[i], [&](char32_t c) { interpreter.take(c); });
    if (bytes < 0) {
        std::perror("read");
        return 1;
    }
    std::printf("%016llx after %llu rows scrolled\n", static_cast<unsigned long long>(buffer.checksum()),
                static_cast<unsigned long long>(buffer.rows_scrolled()));
    return 0;
}
