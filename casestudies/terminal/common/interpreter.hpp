// What a console does with the characters: most are text, some are escape sequences. Of these only the one that sets
// colours (ESC [ 3 1 m) means something here; the others are swallowed.
#pragma once

#include "text_buffer.hpp"

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
