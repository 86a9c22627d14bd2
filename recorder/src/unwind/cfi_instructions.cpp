#include "cfi_instructions.hpp"

namespace memtoll::unwind {
namespace {

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

} // namespace

bool run(Reader code, const Cie& cie, uintptr_t location, uintptr_t address, uintptr_t data_base, CfiScratch& scratch) {
    Row& row = scratch.row;
    unsigned depth = 0;
    // A register beyond those we follow is accepted and forgotten (those of floating point and vectors).
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
        default:
            if (!arch::is_signing(op)) return false;
        }
    }
    return code.ok;
}

} // namespace memtoll::unwind
