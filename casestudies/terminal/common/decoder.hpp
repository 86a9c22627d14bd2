// UTF-8, a byte at a time: text arrives in pieces that end anywhere.
#pragma once

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
