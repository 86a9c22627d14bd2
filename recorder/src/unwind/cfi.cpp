// Reads .eh_frame (LSB 5.0 "Exception Frames", DWARF 5 section 6.4) and its expressions (DWARF 5 section 2.5).
#include "cfi.hpp"

#include <cstring>

namespace memtoll::unwind {
namespace {

// -- reading bytes ---------------------------------------------------------------------------------------------------

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
        uint64_t value = 0;
        unsigned shift = 0;
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
enum : uint8_t {
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

uintptr_t encoded(Reader& reader, uint8_t encoding, uintptr_t data_base) {
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

// -- entries ---------------------------------------------------------------------------------------------------------

struct Cie {
    uint64_t code_align = 1;
    int64_t data_align = 1;
    uint64_t return_register = arch::kReturnAddress;
    uint8_t pointer_encoding = kAbsolute;
    bool has_augmentation = false;
    bool signal_frame = false;
    Reader instructions{0, {}};
};

struct Entry {
    bool is_cie = false;
    uintptr_t cie = 0; // of an FDE
    Reader body{0, {}};
    uintptr_t next = 0;
};

// Reads the length and the CIE pointer of the entry at `at`. False at the terminator, beyond the end, or on damage.
bool read_entry(uintptr_t at, const Range& range, Entry& entry) {
    Reader reader{at, range};
    uint64_t length = reader.fixed<uint32_t>();
    if (length == 0xffffffff) length = reader.fixed<uint64_t>();
    if (!reader.ok || length == 0 || length > range.end - reader.at) return false;
    entry.next = reader.at + length;
    reader.range = {at, entry.next};
    const uintptr_t pointer_at = reader.at;
    const uint32_t offset = reader.fixed<uint32_t>();
    if (!reader.ok) return false;
    entry.is_cie = offset == 0;
    if (!entry.is_cie && offset > pointer_at - range.begin) return false;
    entry.cie = pointer_at - offset;
    entry.body = reader;
    return true;
}

bool read_cie(uintptr_t at, const Range& range, Cie& cie) {
    Entry entry;
    if (!read_entry(at, range, entry) || !entry.is_cie) return false;
    Reader& body = entry.body;
    const uint8_t version = body.fixed<uint8_t>();
    if (version != 1 && version != 3 && version != 4) return false;
    char augmentation[8];
    unsigned letters = 0;
    for (;;) {
        const char letter = body.fixed<char>();
        if (!body.ok) return false;
        if (letter == 0) break;
        if (letters == sizeof augmentation) return false;
        augmentation[letters++] = letter;
    }
    if (version == 4) {
        const uint8_t address_bytes = body.fixed<uint8_t>();
        const uint8_t segment_bytes = body.fixed<uint8_t>();
        if (address_bytes != sizeof(uintptr_t) || segment_bytes != 0) return false;
    }
    cie.code_align = body.uleb();
    cie.data_align = body.sleb();
    cie.return_register = version == 1 ? body.fixed<uint8_t>() : body.uleb();
    if (letters > 0) {
        if (augmentation[0] != 'z') return false; // without a length nothing after it can be found
        cie.has_augmentation = true;
        const uint64_t bytes = body.uleb();
        if (!body.ok || bytes > body.range.end - body.at) return false;
        const uintptr_t after = body.at + bytes;
        for (unsigned i = 1; i < letters; ++i) {
            switch (augmentation[i]) {
            case 'R': cie.pointer_encoding = body.fixed<uint8_t>(); break;
            case 'S': cie.signal_frame = true; break;
            case 'L': body.skip(1); break;
            case 'P': {
                const uint8_t encoding = body.fixed<uint8_t>();
                encoded(body, encoding & uint8_t{kFormMask | kPcRelative}, 0);
                break;
            }
            default: i = letters; // an unknown letter: what follows is unknown, but its length is not
            }
        }
        body.at = after;
    }
    if (!body.ok || cie.return_register >= arch::kRegisterCount) return false;
    cie.instructions = body;
    return true;
}

// If the FDE at `at` covers `address`: its CIE, its start and its instructions.
bool read_fde(uintptr_t at, const CfiSections& sections, uintptr_t address, Cie& cie, uintptr_t& start,
              Reader& instructions) {
    const Range& range = sections.frame_range;
    Entry entry;
    if (!read_entry(at, range, entry) || entry.is_cie || !read_cie(entry.cie, range, cie)) return false;
    Reader& body = entry.body;
    start = encoded(body, cie.pointer_encoding, sections.eh_frame_hdr);
    const uintptr_t length = encoded(body, cie.pointer_encoding & kFormMask, 0);
    if (!body.ok || address - start >= length) return false;
    if (cie.has_augmentation) body.skip(body.uleb());
    instructions = body;
    return body.ok;
}

// -- instructions ----------------------------------------------------------------------------------------------------

enum : uint8_t {
    kAdvanceLoc = 0x40, // with the delta in the low 6 bits
    kOffset = 0x80,     // with the register in the low 6 bits
    kRestore = 0xc0,
    kNop = 0x00,
    kSetLoc = 0x01,
    kAdvanceLoc1 = 0x02,
    kAdvanceLoc2 = 0x03,
    kAdvanceLoc4 = 0x04,
    kOffsetExtended = 0x05,
    kRestoreExtended = 0x06,
    kUndefinedRegister = 0x07,
    kSameValue = 0x08,
    kRegisterInRegister = 0x09,
    kRememberState = 0x0a,
    kRestoreState = 0x0b,
    kDefCfa = 0x0c,
    kDefCfaRegister = 0x0d,
    kDefCfaOffset = 0x0e,
    kDefCfaExpression = 0x0f,
    kExpressionRule = 0x10,
    kOffsetExtendedSf = 0x11,
    kDefCfaSf = 0x12,
    kDefCfaOffsetSf = 0x13,
    kValOffset = 0x14,
    kValOffsetSf = 0x15,
    kValExpression = 0x16,
    kGnuArgsSize = 0x2e,
    kGnuNegativeOffsetExtended = 0x2f,
};

// Runs instructions on scratch.row up to `address`. `location` is the first address that the instructions apply to.
bool run(Reader code, const Cie& cie, uintptr_t location, uintptr_t address, uintptr_t data_base,
         CfiScratch& scratch) {
    Row& row = scratch.row;
    unsigned depth = 0;
    // A register beyond those we follow is accepted and forgotten (vector registers, x87).
    RegisterRule ignored;
    auto rule = [&](uint64_t number) -> RegisterRule& {
        return number < arch::kRegisterCount ? row.registers[number] : ignored;
    };
    auto restore = [&](uint64_t number) {
        if (number < arch::kRegisterCount) row.registers[number] = scratch.initial.registers[number];
    };
    auto block = [&]() {
        const uintptr_t at = code.at;
        code.skip(code.uleb());
        return at;
    };
    auto cfa_register = [&](uint64_t number) {
        if (number >= arch::kRegisterCount) code.ok = false;
        row.cfa_register = static_cast<uint8_t>(number);
        row.cfa_expression = 0;
    };
    while (code.more() && location <= address) {
        const uint8_t op = code.fixed<uint8_t>();
        const uint8_t low = op & 0x3f;
        switch (op & 0xc0) {
        case kAdvanceLoc: location += low * cie.code_align; continue;
        case kOffset:
            rule(low) = {RegisterRule::kAtCfa, static_cast<int64_t>(code.uleb()) * cie.data_align, 0};
            continue;
        case kRestore: restore(low); continue;
        default: break;
        }
        switch (op) {
        case kNop: break;
        case kSetLoc: location = encoded(code, cie.pointer_encoding, data_base); break;
        case kAdvanceLoc1: location += code.fixed<uint8_t>() * cie.code_align; break;
        case kAdvanceLoc2: location += code.fixed<uint16_t>() * cie.code_align; break;
        case kAdvanceLoc4: location += code.fixed<uint32_t>() * cie.code_align; break;
        case kOffsetExtended: {
            const uint64_t number = code.uleb();
            rule(number) = {RegisterRule::kAtCfa, static_cast<int64_t>(code.uleb()) * cie.data_align, 0};
            break;
        }
        case kOffsetExtendedSf: {
            const uint64_t number = code.uleb();
            rule(number) = {RegisterRule::kAtCfa, code.sleb() * cie.data_align, 0};
            break;
        }
        case kGnuNegativeOffsetExtended: {
            const uint64_t number = code.uleb();
            rule(number) = {RegisterRule::kAtCfa, -static_cast<int64_t>(code.uleb()) * cie.data_align, 0};
            break;
        }
        case kValOffset: {
            const uint64_t number = code.uleb();
            rule(number) = {RegisterRule::kCfaPlus, static_cast<int64_t>(code.uleb()) * cie.data_align, 0};
            break;
        }
        case kValOffsetSf: {
            const uint64_t number = code.uleb();
            rule(number) = {RegisterRule::kCfaPlus, code.sleb() * cie.data_align, 0};
            break;
        }
        case kRestoreExtended: restore(code.uleb()); break;
        case kUndefinedRegister: rule(code.uleb()) = {RegisterRule::kUndefined, 0, 0}; break;
        case kSameValue: rule(code.uleb()) = {RegisterRule::kSame, 0, 0}; break;
        case kRegisterInRegister: {
            const uint64_t number = code.uleb();
            const uint64_t other = code.uleb();
            if (other >= arch::kRegisterCount) return false;
            rule(number) = {RegisterRule::kRegister, static_cast<int64_t>(other), 0};
            break;
        }
        case kExpressionRule: {
            const uint64_t number = code.uleb();
            rule(number) = {RegisterRule::kAtExpression, 0, block()};
            break;
        }
        case kValExpression: {
            const uint64_t number = code.uleb();
            rule(number) = {RegisterRule::kExpression, 0, block()};
            break;
        }
        case kRememberState:
            if (depth == CfiScratch::kRememberDepth) return false;
            scratch.remembered[depth++] = row;
            break;
        case kRestoreState:
            if (depth == 0) return false;
            row = scratch.remembered[--depth];
            break;
        case kDefCfa:
            cfa_register(code.uleb());
            row.cfa_offset = static_cast<int64_t>(code.uleb());
            break;
        case kDefCfaSf:
            cfa_register(code.uleb());
            row.cfa_offset = code.sleb() * cie.data_align;
            break;
        case kDefCfaRegister: cfa_register(code.uleb()); break;
        case kDefCfaOffset: row.cfa_offset = static_cast<int64_t>(code.uleb()); break;
        case kDefCfaOffsetSf: row.cfa_offset = code.sleb() * cie.data_align; break;
        case kDefCfaExpression: row.cfa_expression = block(); break;
        case kGnuArgsSize: code.uleb(); break;
        default: return false;
        }
    }
    return code.ok;
}

bool row_from_fde(uintptr_t fde, const CfiSections& sections, uintptr_t address, CfiScratch& scratch) {
    Cie cie;
    uintptr_t start = 0;
    Reader instructions{0, {}};
    if (!read_fde(fde, sections, address, cie, start, instructions)) return false;
    scratch.row = Row{};
    scratch.initial = Row{};
    // The CIE's instructions describe the function's first address: none of them is beyond it.
    if (!run(cie.instructions, cie, 0, UINTPTR_MAX, sections.eh_frame_hdr, scratch)) return false;
    scratch.initial = scratch.row;
    if (!run(instructions, cie, start, address, sections.eh_frame_hdr, scratch)) return false;
    scratch.row.signal_frame = cie.signal_frame;
    if (cie.return_register != arch::kReturnAddress)
        scratch.row.registers[arch::kReturnAddress] = scratch.row.registers[cie.return_register];
    return true;
}

// -- expressions -----------------------------------------------------------------------------------------------------

// A value on the expression's stack. Without actual registers it may stay symbolic: register + offset, or the word at
// that address.
struct Value {
    enum Kind : uint8_t { kNumber, kRegisterPlus, kWordAt };
    Kind kind = kNumber;
    uint8_t reg = 0;
    int64_t number = 0; // the number, or the offset
};

struct Memory {
    ReadWord read;
    void* context;
};

enum : uint8_t {
    kOpDeref = 0x06,
    kOpConst1u = 0x08,
    kOpConst8s = 0x0f,
    kOpConstu = 0x10,
    kOpConsts = 0x11,
    kOpDup = 0x12,
    kOpDrop = 0x13,
    kOpOver = 0x14,
    kOpPick = 0x15,
    kOpSwap = 0x16,
    kOpAnd = 0x1a,
    kOpMinus = 0x1c,
    kOpMul = 0x1e,
    kOpNeg = 0x1f,
    kOpNot = 0x20,
    kOpOr = 0x21,
    kOpPlus = 0x22,
    kOpPlusUconst = 0x23,
    kOpShl = 0x24,
    kOpShr = 0x25,
    kOpShra = 0x26,
    kOpXor = 0x27,
    kOpEq = 0x29,
    kOpGe = 0x2a,
    kOpGt = 0x2b,
    kOpLe = 0x2c,
    kOpLt = 0x2d,
    kOpNe = 0x2e,
    kOpLit0 = 0x30,
    kOpLit31 = 0x4f,
    kOpBreg0 = 0x70,
    kOpBreg31 = 0x8f,
    kOpNop = 0x96,
};

bool combine(uint8_t op, const Value& a, const Value& b, Value& out) {
    out = a;
    if (op == kOpPlus || op == kOpMinus) {
        if (op == kOpPlus && a.kind == Value::kNumber && b.kind == Value::kRegisterPlus) {
            out = b;
            out.number += a.number;
            return true;
        }
        if (a.kind == Value::kWordAt || b.kind != Value::kNumber) return false;
        out.number = static_cast<int64_t>(op == kOpPlus ? uint64_t(a.number) + uint64_t(b.number)
                                                       : uint64_t(a.number) - uint64_t(b.number));
        return true;
    }
    if (a.kind != Value::kNumber || b.kind != Value::kNumber) return false;
    const int64_t x = a.number, y = b.number;
    const uint64_t ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
    switch (op) {
    case kOpAnd: out.number = x & y; break;
    case kOpOr: out.number = x | y; break;
    case kOpXor: out.number = x ^ y; break;
    case kOpMul: out.number = static_cast<int64_t>(ux * uy); break;
    case kOpShl: out.number = uy > 63 ? 0 : static_cast<int64_t>(ux << uy); break;
    case kOpShr: out.number = uy > 63 ? 0 : static_cast<int64_t>(ux >> uy); break;
    case kOpShra: out.number = x >> (uy > 63 ? 63 : uy); break;
    case kOpEq: out.number = x == y; break;
    case kOpGe: out.number = x >= y; break;
    case kOpGt: out.number = x > y; break;
    case kOpLe: out.number = x <= y; break;
    case kOpLt: out.number = x < y; break;
    case kOpNe: out.number = x != y; break;
    default: return false;
    }
    return true;
}

// Evaluates the block at `block`. With `registers`, registers and memory have values; without, only the instruction
// pointer does (`address`). `initial` is pushed first when given (rules start with the CFA on the stack).
bool evaluate(uintptr_t block, const Range& range, uintptr_t address, const arch::Registers* registers,
              const Memory* memory, const Value* initial, Value& result) {
    constexpr unsigned kDepth = 16;
    Value stack[kDepth];
    unsigned depth = 0;
    if (initial) stack[depth++] = *initial;
    Reader code{block, range};
    const uint64_t bytes = code.uleb();
    if (!code.ok || bytes > range.end - code.at) return false;
    code.range = {code.at, code.at + bytes};
    auto push = [&](Value value) {
        if (depth == kDepth) code.ok = false;
        else stack[depth++] = value;
    };
    auto push_register = [&](uint64_t number, int64_t offset) {
        if (number == arch::kReturnAddress && !registers) return push({Value::kNumber, 0, int64_t(address) + offset});
        if (number >= arch::kRegisterCount) {
            code.ok = false;
            return;
        }
        if (registers)
            push({Value::kNumber, 0, static_cast<int64_t>(registers->value[number] + static_cast<uint64_t>(offset))});
        else push({Value::kRegisterPlus, static_cast<uint8_t>(number), offset});
    };
    while (code.more()) {
        const uint8_t op = code.fixed<uint8_t>();
        if (op >= kOpLit0 && op <= kOpLit31) {
            push({Value::kNumber, 0, op - kOpLit0});
        } else if (op >= kOpBreg0 && op <= kOpBreg31) {
            push_register(op - kOpBreg0, code.sleb());
        } else if (op >= kOpConst1u && op <= kOpConst8s) {
            int64_t number = 0;
            switch (op - kOpConst1u) {
            case 0: number = code.fixed<uint8_t>(); break;
            case 1: number = code.fixed<int8_t>(); break;
            case 2: number = code.fixed<uint16_t>(); break;
            case 3: number = code.fixed<int16_t>(); break;
            case 4: number = code.fixed<uint32_t>(); break;
            case 5: number = code.fixed<int32_t>(); break;
            default: number = code.fixed<int64_t>(); break;
            }
            push({Value::kNumber, 0, number});
        } else if (op == kOpConstu) {
            push({Value::kNumber, 0, static_cast<int64_t>(code.uleb())});
        } else if (op == kOpConsts) {
            push({Value::kNumber, 0, code.sleb()});
        } else if (op == kOpNop) {
        } else {
            if (depth == 0) return false;
            Value& top = stack[depth - 1];
            switch (op) {
            case kOpDup: push(Value(top)); break;
            case kOpDrop: --depth; break;
            case kOpOver:
            case kOpPick: {
                const unsigned index = op == kOpOver ? 1 : code.fixed<uint8_t>();
                if (index >= depth) return false;
                push(Value(stack[depth - 1 - index]));
                break;
            }
            case kOpSwap: {
                if (depth < 2) return false;
                const Value other = stack[depth - 2];
                stack[depth - 2] = top;
                top = other;
                break;
            }
            case kOpDeref:
                if (memory && top.kind == Value::kNumber) {
                    uintptr_t word;
                    if (!memory->read(memory->context, static_cast<uintptr_t>(top.number), word)) return false;
                    top.number = static_cast<int64_t>(word);
                } else if (top.kind == Value::kRegisterPlus) {
                    top.kind = Value::kWordAt;
                } else {
                    return false;
                }
                break;
            case kOpPlusUconst: {
                const Value constant{Value::kNumber, 0, static_cast<int64_t>(code.uleb())};
                if (!combine(kOpPlus, Value(top), constant, top)) return false;
                break;
            }
            case kOpNeg:
            case kOpNot:
                if (top.kind != Value::kNumber) return false;
                top.number = op == kOpNot ? ~top.number : static_cast<int64_t>(0 - static_cast<uint64_t>(top.number));
                break;
            default:
                if (depth < 2 || !combine(op, Value(stack[depth - 2]), Value(top), stack[depth - 2])) return false;
                --depth;
            }
        }
    }
    if (!code.ok || depth == 0) return false;
    result = stack[depth - 1];
    return true;
}

// Expressions were bounds-checked when their row was built: a block lies inside its FDE or CIE.
constexpr Range kTrusted{0, UINTPTR_MAX};

bool fits(int64_t value) { return value == static_cast<int32_t>(value); }

// A saved register's place relative to the CFA, the stack pointer or the frame pointer. False: not sayable in a rule.
bool compress_register(const RegisterRule& rule, uintptr_t address, Rule::Saved& saved, int32_t& offset) {
    switch (rule.kind) {
    case RegisterRule::kSame: saved = Rule::kUnchanged; return true;
    case RegisterRule::kUndefined: saved = Rule::kNoCaller; return true;
    case RegisterRule::kAtCfa:
        saved = Rule::kSavedAtCfa;
        offset = static_cast<int32_t>(rule.value);
        return fits(rule.value);
    case RegisterRule::kAtExpression: {
        Value place;
        if (!evaluate(rule.expression, kTrusted, address, nullptr, nullptr, nullptr, place)) return false;
        if (place.kind != Value::kRegisterPlus || !fits(place.number)) return false;
        offset = static_cast<int32_t>(place.number);
        saved = place.reg == arch::kStackPointer ? Rule::kSavedAtStack : Rule::kSavedAtFrame;
        return place.reg == arch::kStackPointer || place.reg == arch::kFramePointer;
    }
    default: return false;
    }
}

} // namespace

bool find_row_linear(const CfiSections& sections, uintptr_t eh_frame, uintptr_t address, CfiScratch& scratch) {
    Entry entry;
    for (uintptr_t at = eh_frame; read_entry(at, sections.frame_range, entry); at = entry.next)
        if (!entry.is_cie && row_from_fde(at, sections, address, scratch)) return true;
    return false;
}

bool find_row(const CfiSections& sections, uintptr_t address, CfiScratch& scratch) {
    // .eh_frame_hdr (LSB 5.0 section 10.6.2): version, three encodings, the address of .eh_frame, and a table of
    // (first address, FDE) sorted by address.
    Reader header{sections.eh_frame_hdr, sections.header_range};
    const uint8_t version = header.fixed<uint8_t>();
    const uint8_t frame_encoding = header.fixed<uint8_t>();
    const uint8_t count_encoding = header.fixed<uint8_t>();
    const uint8_t table_encoding = header.fixed<uint8_t>();
    if (!header.ok || version != 1 || frame_encoding == kOmitted) return false;
    const uintptr_t eh_frame = encoded(header, frame_encoding, sections.eh_frame_hdr);
    if (!header.ok) return false;
    constexpr uint8_t kSortedTable = kDataRelative | kS4;
    if (count_encoding == kOmitted || table_encoding != kSortedTable)
        return find_row_linear(sections, eh_frame, address, scratch);
    const uintptr_t count = encoded(header, count_encoding, sections.eh_frame_hdr);
    struct Pair {
        int32_t start, fde;
    };
    if (!header.ok || count == 0 || count > (header.range.end - header.at) / sizeof(Pair)) return false;
    const uintptr_t table = header.at;
    auto pair = [&](uintptr_t index) {
        Pair p;
        memcpy(&p, reinterpret_cast<const void*>(table + index * sizeof(Pair)), sizeof p);
        return p;
    };
    const intptr_t wanted = static_cast<intptr_t>(address - sections.eh_frame_hdr);
    uintptr_t low = 0, high = count; // the last entry that starts at or before the address is in [low, high)
    while (high - low > 1) {
        const uintptr_t middle = low + (high - low) / 2;
        if (pair(middle).start <= wanted) low = middle;
        else high = middle;
    }
    return row_from_fde(sections.eh_frame_hdr + static_cast<uintptr_t>(intptr_t{pair(low).fde}), sections, address,
                        scratch);
}

Rule compress(const Row& row, uintptr_t address) {
    Rule rule;
    Rule hard;
    hard.cfa = Rule::kEveryRegister;
    hard.signal_frame = row.signal_frame;
    if (!compress_register(row.registers[arch::kReturnAddress], address, rule.return_address, rule.return_offset))
        return hard;
    if (rule.return_address == Rule::kUnchanged) return hard;
    rule.signal_frame = row.signal_frame;
    if (rule.return_address == Rule::kNoCaller) {
        rule.cfa = Rule::kStack;
        return rule;
    }
    Value cfa{Value::kRegisterPlus, row.cfa_register, row.cfa_offset};
    if (row.cfa_expression &&
        !evaluate(row.cfa_expression, kTrusted, address, nullptr, nullptr, nullptr, cfa))
        return hard;
    const bool stack = cfa.reg == arch::kStackPointer;
    if (cfa.kind == Value::kNumber || !fits(cfa.number) || (!stack && cfa.reg != arch::kFramePointer)) return hard;
    if (cfa.kind == Value::kWordAt) rule.cfa = stack ? Rule::kAtStack : Rule::kAtFrame;
    else rule.cfa = stack ? Rule::kStack : Rule::kFrame;
    rule.cfa_offset = static_cast<int32_t>(cfa.number);
    if (!compress_register(row.registers[arch::kFramePointer], address, rule.frame_pointer,
                           rule.frame_pointer_offset))
        return hard;
    // An undefined frame pointer cannot be followed further, but it does not end the stack.
    if (rule.frame_pointer == Rule::kNoCaller) rule.frame_pointer = Rule::kUnchanged;
    return rule;
}

bool apply(const Row& row, arch::Registers& registers, ReadWord read, void* context) {
    const Memory memory{read, context};
    const uintptr_t address = registers.value[arch::kReturnAddress];
    uintptr_t cfa;
    if (row.cfa_expression) {
        Value value;
        if (!evaluate(row.cfa_expression, kTrusted, address, &registers, &memory, nullptr, value)) return false;
        cfa = static_cast<uintptr_t>(value.number);
    } else {
        cfa = registers.value[row.cfa_register] + static_cast<uintptr_t>(row.cfa_offset);
    }
    arch::Registers caller = registers;
    caller.value[arch::kStackPointer] = cfa;
    const Value on_stack{Value::kNumber, 0, static_cast<int64_t>(cfa)};
    for (unsigned i = 0; i < arch::kRegisterCount; ++i) {
        const RegisterRule& rule = row.registers[i];
        uintptr_t& out = caller.value[i];
        Value value;
        switch (rule.kind) {
        case RegisterRule::kSame:
            if (i == arch::kReturnAddress) return false;
            break;
        case RegisterRule::kUndefined: out = 0; break;
        case RegisterRule::kAtCfa:
            if (!read(context, cfa + static_cast<uintptr_t>(rule.value), out)) return false;
            break;
        case RegisterRule::kCfaPlus: out = cfa + static_cast<uintptr_t>(rule.value); break;
        case RegisterRule::kRegister: out = registers.value[rule.value]; break;
        case RegisterRule::kAtExpression:
            if (!evaluate(rule.expression, kTrusted, address, &registers, &memory, &on_stack, value)) return false;
            if (!read(context, static_cast<uintptr_t>(value.number), out)) return false;
            break;
        case RegisterRule::kExpression:
            if (!evaluate(rule.expression, kTrusted, address, &registers, &memory, &on_stack, value)) return false;
            out = static_cast<uintptr_t>(value.number);
            break;
        }
    }
    registers = caller;
    return true;
}

} // namespace memtoll::unwind
