#include "cfi_expressions.hpp"

#include "cfi_bytes.hpp"

namespace memtoll::unwind {
namespace {

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

// Expressions were bounds-checked when their row was built: a block lies inside its FDE or CIE.
constexpr Range kTrusted{0, UINTPTR_MAX};

} // namespace

bool evaluate(uintptr_t block, uintptr_t address, const arch::Registers* registers, const Memory* memory,
              const Value* initial, Value& result) {
    constexpr unsigned kDepth = 16;
    Value stack[kDepth];
    unsigned depth = 0;
    if (initial) stack[depth++] = *initial;
    Reader code{block, kTrusted};
    const uint64_t bytes = code.uleb();
    if (!code.ok || bytes > kTrusted.end - code.at) return false;
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

} // namespace memtoll::unwind
