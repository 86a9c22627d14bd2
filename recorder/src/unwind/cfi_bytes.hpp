// Reads the numbers and pointers that call frame information consists of. Inside unwind/ only.
#pragma once

#include "cfi.hpp"

#include <cstring>

namespace memtoll::unwind {

// Reads forward inside a range. After a read beyond the range `ok` stays false and every value is 0.
struct Reader {
    uintptr_t at;
    Range range;
    bool ok = true;

    bool more() const { return ok && at < range.end; }

    template <class T> T fixed() {
        T value{};
        if (!ok || !range.holds(at, sizeof(T))) {
            ok = false;
            return value;
        }
        memcpy(&value, reinterpret_cast<const void*>(at), sizeof(T));
        at += sizeof(T);
        return value;
    }

    uint64_t uleb() {
        uint64_t value = fixed<uint8_t>();
        if (!(value & 0x80)) return value; // most have one byte
        value &= 0x7f;
        unsigned shift = 7;
        uint8_t byte;
        do {
            byte = fixed<uint8_t>();
            if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
            shift += 7;
        } while (ok && (byte & 0x80));
        return value;
    }

    int64_t sleb() {
        uint64_t value = 0;
        unsigned shift = 0;
        uint8_t byte;
        do {
            byte = fixed<uint8_t>();
            if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
            shift += 7;
        } while (ok && (byte & 0x80));
        if (shift < 64 && (byte & 0x40)) value |= ~uint64_t{0} << shift;
        return static_cast<int64_t>(value);
    }

    void skip(uint64_t bytes) {
        if (!ok || bytes > range.end - at) ok = false;
        else at += bytes;
    }
};

// Pointer encodings (LSB 5.0 section 10.5.1).
enum Encoding : uint8_t {
    kFormMask = 0x0f,
    kAbsolute = 0x00,
    kUleb = 0x01,
    kU2 = 0x02,
    kU4 = 0x03,
    kU8 = 0x04,
    kSleb = 0x09,
    kS2 = 0x0a,
    kS4 = 0x0b,
    kS8 = 0x0c,
    kApplyMask = 0x70,
    kPcRelative = 0x10,
    kDataRelative = 0x30,
    kOmitted = 0xff,
};

// A pointer in the encoding `encoding`; `data_base` is what data-relative ones are relative to.
inline uintptr_t encoded(Reader& reader, uint8_t encoding, uintptr_t data_base) {
    const uintptr_t place = reader.at;
    uintptr_t value = 0;
    switch (encoding & kFormMask) {
    case kAbsolute: value = reader.fixed<uintptr_t>(); break;
    case kUleb: value = reader.uleb(); break;
    case kU2: value = reader.fixed<uint16_t>(); break;
    case kU4: value = reader.fixed<uint32_t>(); break;
    case kU8: value = reader.fixed<uint64_t>(); break;
    case kSleb: value = static_cast<uintptr_t>(reader.sleb()); break;
    case kS2: value = static_cast<uintptr_t>(intptr_t{reader.fixed<int16_t>()}); break;
    case kS4: value = static_cast<uintptr_t>(intptr_t{reader.fixed<int32_t>()}); break;
    case kS8: value = reader.fixed<uint64_t>(); break;
    default: reader.ok = false; return 0;
    }
    switch (encoding & kApplyMask) {
    case 0: return value;
    case kPcRelative: return place + value;
    case kDataRelative: return data_base + value;
    default: reader.ok = false; return 0;
    }
}

} // namespace memtoll::unwind
