// x86-64 instructions, as far as one needs them to follow the stack pointer through a function.
//
// Lengths: Intel's manual, volume 2, chapter 2 (formats) and appendix A (opcode maps).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memtoll::arch {

struct Instruction {
    enum Effect : uint8_t {
        kUnknown,   // not understood, or it changes the stack pointer in a way that the code does not tell
        kNone,      // on the stack pointer
        kCall,      // comes back with the stack pointer as it was, if at all
        kNop,
        kEntry,     // of a function: its first instruction, or the one that sets up its frame pointer
        kMove,      // stack pointer += amount
        kPop,       // a register from the stack
        kLoad,      // a register from stack pointer + amount
        kFromFrame, // stack pointer = frame pointer + amount
        kLeave,     // stack pointer = frame pointer, and that from the stack
        kLoadFrame, // frame pointer = the word there
        kSwitch,    // stack pointer = another register: to another stack perhaps
        kJump,      // to the target
        kBranch,    // to the target, or on
        kLeap,      // to where a register or memory says
        kReturn,
    };
    Effect effect = kUnknown;
    uint8_t bytes = 0;
    uint8_t reg = 0; // DWARF's number
    bool uses_frame = false;   // something below the frame pointer, where local variables are
    bool denies_frame = false; // the frame pointer is a register like others: it is changed, or a frame's own words are used
    int32_t amount = 0;
    intptr_t distance = 0; // of the target from the instruction
};

// Whether calls preserve a register (DWARF's number): rbx, rbp and r12 to r15.
constexpr bool is_preserved(unsigned reg) { return 0xf048u >> reg & 1; }

namespace instructions {

constexpr unsigned kRsp = 4, kRbp = 5; // as instructions number them

// DWARF numbers the first eight in an order of its own.
inline uint8_t dwarf_number(unsigned reg) {
    constexpr uint8_t kFirst[] = {0, 2, 1, 3, 7, 6, 4, 5};
    return reg < 8 ? kFirst[reg] : static_cast<uint8_t>(reg);
}

// Opcodes of one byte that a ModRM byte follows, a bit each.
constexpr bool has_modrm(uint8_t opcode) {
    if (opcode < 0x40) return (opcode & 7) < 4;
    constexpr uint16_t kRows[] = {0, 0, 0x0a08, 0, 0xffff, 0, 0, 0, 0x00c3, 0xff0f, 0, 0xc0c0};
    return kRows[(opcode >> 4) - 4] >> (opcode & 15) & 1;
}

// The same behind 0F.
constexpr bool has_modrm_0f(uint8_t opcode) {
    if (opcode < 0x10) return opcode < 4 || opcode == 0x0d || opcode == 0x0f;
    if (opcode >= 0x30 && opcode < 0x38) return false;
    if (opcode >= 0x80 && opcode < 0x90) return false;
    if (opcode >= 0xc8 && opcode < 0xd0) return false;
    return opcode != 0x77 && opcode != 0xa0 && opcode != 0xa1 && opcode != 0xa2 && opcode != 0xa8 && opcode != 0xa9 &&
           opcode != 0xaa;
}

constexpr bool has_byte_0f(uint8_t opcode) {
    return (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xa4 || opcode == 0xac || opcode == 0xba ||
           opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6) || opcode == 0x0f;
}

struct Reader {
    const uint8_t* bytes;
    size_t count;
    size_t at = 0;
    bool ended = false;
    template <class T> T take() {
        T value{};
        if (count - at < sizeof value) {
            ended = true;
            return value;
        }
        memcpy(&value, bytes + at, sizeof value);
        at += sizeof value;
        return value;
    }
};

struct ModRm {
    unsigned mode = 0, reg = 0, rm = 0; // with the bits of the prefix
    bool on_stack = false;              // memory at the stack pointer, without an index
    bool on_frame = false;              // memory at the frame pointer
    bool is_indexed = false;            // or beside it, by a register
    int32_t offset = 0;

    bool is_register() const { return mode == 3; }
    bool is_below_frame() const { return on_frame && offset <= -8; }
    // Where a frame has the caller's frame pointer and the return address.
    bool is_on_frames_own() const { return on_frame && offset >= 0 && offset < 16; }
};

inline ModRm read_modrm(Reader& in, uint8_t rex) {
    const auto byte = in.take<uint8_t>();
    ModRm out;
    out.mode = byte >> 6;
    out.reg = (byte >> 3 & 7) | (rex & 4) << 1;
    const unsigned rm = byte & 7;
    out.rm = rm | (rex & 1) << 3;
    if (out.mode == 3) return out;
    unsigned base = rm;
    bool indexed = false;
    if (rm == 4) {
        const auto sib = in.take<uint8_t>();
        base = sib & 7;
        indexed = (sib >> 3 & 7) != 4 || (rex & 2);
    }
    if (out.mode == 1) out.offset = in.take<int8_t>();
    else if (out.mode == 2 || (out.mode == 0 && base == 5)) out.offset = in.take<int32_t>();
    if (rex & 1) return out;
    out.on_stack = rm == 4 && base == kRsp && !indexed;
    out.on_frame = base == kRbp && out.mode != 0;
    out.is_indexed = indexed;
    return out;
}

// Whether an instruction of the first opcode map, which a ModRM byte follows, writes into the register or memory of the byte's
// last three bits; and into its register.
constexpr bool writes_rm(uint8_t opcode, unsigned selector) {
    if (opcode < 0x38) return (opcode & 6) == 0;
    if (opcode == 0x81 || opcode == 0x83) return selector != 7;
    if (opcode == 0xf7) return selector == 2 || selector == 3;
    if (opcode == 0xff) return selector < 2;
    return opcode == 0x87 || opcode == 0x89 || opcode == 0xc1 || opcode == 0xc7 || opcode == 0xd1 || opcode == 0xd3;
}
constexpr bool writes_reg(uint8_t opcode) {
    if (opcode < 0x38) return (opcode & 6) == 2;
    return opcode == 0x63 || opcode == 0x69 || opcode == 0x6b || opcode == 0x87 || opcode == 0x8b || opcode == 0x8d;
}

// The part of it behind the prefixes of an instruction of the first opcode map.
inline Instruction read_plain(Reader& in, uint8_t opcode, uint8_t rex, bool short_operands) {
    using I = Instruction;
    Instruction out;
    const bool wide = rex & 8;
    const auto word = [&] { return short_operands && !wide ? int32_t{in.take<int16_t>()} : in.take<int32_t>(); };
    const auto with = [&out](I::Effect effect, int64_t amount = 0, unsigned reg = 0) {
        out.effect = effect;
        out.amount = static_cast<int32_t>(amount);
        out.reg = dwarf_number(reg);
        return out;
    };
    const unsigned extension = (rex & 1) << 3;
    switch (opcode) {
    case 0x50 ... 0x57: return with(I::kMove, -8);
    case 0x58 ... 0x5f: return with(I::kPop, 0, (opcode & 7) | extension);
    case 0x68: word(); return with(I::kMove, -8);
    case 0x6a: in.take<int8_t>(); return with(I::kMove, -8);
    case 0x90: return with(I::kNop);
    case 0x9c: return with(I::kMove, -8);
    case 0x9d: return with(I::kMove, 8);
    case 0xc9: return with(I::kLeave);
    case 0xc2: in.take<int16_t>(); return with(I::kReturn);
    case 0xc3: return with(I::kReturn);
    case 0xe8: in.take<int32_t>(); return with(I::kCall);
    case 0xe9: {
        const auto offset = in.take<int32_t>();
        out.distance = static_cast<intptr_t>(in.at) + offset;
        return with(I::kJump);
    }
    case 0xeb: {
        const auto offset = in.take<int8_t>();
        out.distance = static_cast<intptr_t>(in.at) + offset;
        return with(I::kJump);
    }
    case 0x70 ... 0x7f:
    case 0xe0 ... 0xe3: {
        const auto offset = in.take<int8_t>();
        out.distance = static_cast<intptr_t>(in.at) + offset;
        return with(I::kBranch);
    }
    // Not in 64-bit code, or nothing that an ordinary function does.
    case 0x06: case 0x07: case 0x0e: case 0x16: case 0x17: case 0x1e: case 0x1f: case 0x27: case 0x2f: case 0x37: case 0x3f:
    case 0x60: case 0x61: case 0x82: case 0x9a: case 0xc8: case 0xca ... 0xce: case 0xcf: case 0xd4 ... 0xd6: case 0xea:
    case 0xf1: case 0xf4: return out;
    case 0xa0 ... 0xa3: in.take<uint64_t>(); return with(I::kNone);
    case 0xb8 ... 0xbf:
        out.denies_frame = opcode == 0xb8 + kRbp && extension == 0;
        wide ? in.take<uint64_t>() : static_cast<uint64_t>(word()); return with(I::kNone);
    default: break;
    }
    if (!has_modrm(opcode)) {
        if ((opcode < 0x40 && (opcode & 7) == 4) || opcode == 0xa8 || (opcode & 0xf8) == 0xb0 || opcode == 0xcd ||
            (opcode & 0xfc) == 0xe4)
            in.take<int8_t>();
        if ((opcode < 0x40 && (opcode & 7) == 5) || opcode == 0xa9) word();
        return with(I::kNone);
    }
    const ModRm modrm = read_modrm(in, rex);
    const unsigned selector = modrm.reg & 7;
    out.uses_frame = modrm.is_below_frame();
    out.denies_frame = modrm.is_on_frames_own() || (modrm.is_register() && modrm.rm == kRbp && writes_rm(opcode, selector)) ||
                       (modrm.reg == kRbp && writes_reg(opcode));
    int64_t value = 0;
    if (opcode == 0x69 || opcode == 0x81 || opcode == 0xc7 || (opcode == 0xf7 && selector < 2)) value = word();
    if (opcode == 0x6b || opcode == 0x80 || opcode == 0x83 || opcode == 0xc0 || opcode == 0xc1 || opcode == 0xc6 ||
        (opcode == 0xf6 && selector < 2))
        value = in.take<int8_t>();
    if (opcode == 0xff && selector == 6) return with(I::kMove, -8);
    if (opcode == 0xff && selector == 2) return with(I::kCall);
    if (opcode == 0xff && selector == 4) return with(I::kLeap);
    if (opcode == 0xff && selector == 5) return out;
    if (opcode == 0x8f) return modrm.is_register() ? with(I::kPop, 0, modrm.rm) : with(I::kMove, 8);
    const bool into_rm = modrm.is_register() && modrm.rm == kRsp;
    const bool into_reg = modrm.reg == kRsp;
    switch (opcode) {
    case 0x81:
    case 0x83:
        if (!into_rm || selector == 7) return with(I::kNone);
        if (selector == 0) return with(I::kMove, value);
        return selector == 5 ? with(I::kMove, -value) : out;
    case 0x8d:
        if (!into_reg) return with(I::kNone);
        if (modrm.on_stack) return with(I::kMove, modrm.offset);
        return modrm.on_frame && !modrm.is_indexed ? with(I::kFromFrame, modrm.offset) : out;
    case 0x8b:
        if (into_reg && modrm.is_register()) return with(modrm.rm == kRbp ? I::kFromFrame : I::kSwitch);
        if (into_reg) return out;
        if (modrm.is_register() && modrm.reg == kRbp && modrm.rm == kRsp) return with(I::kEntry);
        if (wide && modrm.on_frame && !modrm.is_indexed && modrm.offset == 0 && modrm.reg == kRbp) {
            out.denies_frame = false;
            return with(I::kLoadFrame);
        }
        return wide && modrm.on_stack ? with(I::kLoad, modrm.offset, modrm.reg) : with(I::kNone);
    case 0x89:
        if (modrm.is_register() && modrm.rm == kRbp && modrm.reg == kRsp) return with(I::kEntry);
        if (!into_rm) return with(I::kNone);
        return with(modrm.reg == kRbp ? I::kFromFrame : I::kSwitch);
    case 0x03: case 0x0b: case 0x13: case 0x1b: case 0x23: case 0x2b: case 0x33: case 0x63: case 0x69: case 0x6b:
        return into_reg ? out : with(I::kNone);
    case 0x87: return into_reg || into_rm ? out : with(I::kNone);
    case 0x01: case 0x09: case 0x11: case 0x19: case 0x21: case 0x29: case 0x31: case 0xc1: case 0xc7: case 0xd1: case 0xd3:
        return into_rm ? out : with(I::kNone);
    case 0xf7: case 0xff: return into_rm && selector != 0 && selector != 2 ? out : with(I::kNone);
    default: return with(I::kNone);
    }
}

} // namespace instructions

// The instruction that begins with these bytes, which others may follow.
inline Instruction read_instruction(const uint8_t* bytes, size_t count) {
    using namespace instructions;
    Reader in{bytes, count};
    bool short_operands = false;
    uint8_t rex = 0, byte = 0;
    for (unsigned prefixes = 0; prefixes < 14; ++prefixes) {
        byte = in.take<uint8_t>();
        const bool is_prefix = byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 ||
                               (byte & 0xe7) == 0x26 || byte == 0x64 || byte == 0x65;
        if (!is_prefix) break;
        short_operands |= byte == 0x66;
    }
    if ((byte & 0xf0) == 0x40) {
        rex = byte;
        byte = in.take<uint8_t>();
    }
    Instruction out;
    unsigned map = 0; // 1: 0F, 2: 0F 38, 3: 0F 3A
    bool is_vector = false;
    if (byte == 0x0f) {
        byte = in.take<uint8_t>();
        map = byte == 0x38 ? 2 : byte == 0x3a ? 3 : 1;
        if (map != 1) byte = in.take<uint8_t>();
    } else if (byte == 0xc5 || byte == 0xc4 || byte == 0x62) {
        is_vector = true;
        map = byte == 0xc5 ? 1 : in.take<uint8_t>() & (byte == 0x62 ? 7 : 31);
        in.take<uint8_t>();
        if (byte == 0x62) in.take<uint8_t>();
        byte = in.take<uint8_t>();
        if (map == 0 || map > 6) return out;
    }
    if (map == 0) {
        out = read_plain(in, byte, rex, short_operands);
    } else if (map == 1 && !is_vector && byte >= 0x80 && byte < 0x90) {
        const auto offset = in.take<int32_t>();
        out.distance = static_cast<intptr_t>(in.at) + offset;
        out.effect = Instruction::kBranch;
    } else if (map == 1 && !is_vector && (byte == 0x0b || byte == 0xff || byte == 0xb9)) {
        return out; // undefined on purpose: the code does not come here
    } else {
        const bool is_entry = map == 1 && byte == 0x1e && !is_vector && in.at < count && bytes[in.at] == 0xfa; // endbr64
        out.effect = is_entry ? Instruction::kEntry : map == 1 && byte == 0x1f ? Instruction::kNop : Instruction::kNone;
        if (map != 1 || has_modrm_0f(byte)) {
            const ModRm modrm = read_modrm(in, is_vector ? 0 : rex);
            const bool moves = map == 1 && ((byte >= 0x40 && byte < 0x50) || byte == 0xb6 || byte == 0xb7 || byte == 0xbe || byte == 0xbf);
            // The prefix of a vector instruction may say of another register.
            out.uses_frame = !is_vector && modrm.is_below_frame();
            out.denies_frame = !is_vector && (modrm.is_on_frames_own() || (moves && modrm.reg == kRbp));
        }
        if (map == 3 || (map == 1 && has_byte_0f(byte))) in.take<int8_t>();
        if (map == 1 && !is_vector && (byte == 0xa0 || byte == 0xa8)) out.effect = Instruction::kMove, out.amount = -8;
        if (map == 1 && !is_vector && (byte == 0xa1 || byte == 0xa9)) out.effect = Instruction::kMove, out.amount = 8;
    }
    if (in.ended) return Instruction{};
    out.bytes = static_cast<uint8_t>(in.at);
    return out;
}

inline constexpr size_t kLongestInstruction = 15, kLongestCall = 7; // bytes

// Whether the last of these bytes can be a call.
inline bool ends_with_call(const uint8_t (&bytes)[kLongestCall]) {
    const uint8_t* const end = bytes + kLongestCall;
    if (end[-5] == 0xe8) return true;
    // Through a register or memory: FF /2, with up to five bytes of address behind.
    for (size_t length = 2; length <= kLongestCall; ++length) {
        if (end[-static_cast<ptrdiff_t>(length)] != 0xff) continue;
        instructions::Reader in{end - length + 1, length - 1};
        const instructions::ModRm modrm = instructions::read_modrm(in, 0);
        if ((modrm.reg & 7) == 2 && !in.ended && in.at == in.count) return true;
    }
    return false;
}

} // namespace memtoll::arch
