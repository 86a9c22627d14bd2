#include "cfi.hpp"

#include "cfi_expressions.hpp"
#include "cfi_instructions.hpp"
#include "cfi_scratch.hpp"

#include <atomic>

namespace memtoll::unwind {
namespace {

// Has what the CIE's instructions make in scratch.initial.
bool know_initial(uintptr_t data_base, CfiScratch& scratch) {
    if (scratch.has_initial) return true;
    scratch.row = scratch.initial = Row{};
    // They describe the function's first address: none of them is beyond it.
    if (!run(scratch.cie.instructions, scratch.cie, 0, UINTPTR_MAX, data_base, scratch)) return false;
    scratch.initial = scratch.row;
    std::atomic_signal_fence(std::memory_order_seq_cst); // as in know_cie
    scratch.has_initial = true;
    return true;
}

// Where the entry names another register for the return address, that one's rule is the address's. One without a rule still
// holds it: a function that calls nothing leaves the address where its caller's call has put it.
void follow_return_register(unsigned number, Row& row) {
    if (number == arch::kReturnAddress) return;
    RegisterRule& rule = row.registers[arch::kReturnAddress];
    rule = row.registers[number];
    if (rule.kind == RegisterRule::kSame) rule = {RegisterRule::kRegister, static_cast<int64_t>(number), 0};
}

// Leaves in scratch.row what `fde`, of the CIE in scratch.cie, says about `address`.
bool make_row(const Fde& fde, uintptr_t data_base, uintptr_t address, CfiScratch& scratch) {
    const Cie& cie = scratch.cie;
    if (!know_initial(data_base, scratch)) return false;
    scratch.row = scratch.initial;
    if (!run(fde.instructions, cie, fde.start, address, data_base, scratch)) return false;
    scratch.row.signal_frame = cie.signal_frame;
    follow_return_register(static_cast<unsigned>(cie.return_register), scratch.row);
    return true;
}

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
        if (!evaluate(rule.expression, address, nullptr, nullptr, nullptr, place)) return false;
        if (place.kind != Value::kRegisterPlus || !fits(place.number)) return false;
        offset = static_cast<int32_t>(place.number);
        saved = place.reg == arch::kStackPointer ? Rule::kSavedAtStack : Rule::kSavedAtFrame;
        return place.reg == arch::kStackPointer || place.reg == arch::kFramePointer;
    }
    default: return false;
    }
}

} // namespace

bool find_row(const CfiSections& sections, uintptr_t address, CfiScratch& scratch) {
    Fde fde;
    return find_fde(sections, address, scratch, fde) && make_row(fde, sections.eh_frame_hdr, address, scratch);
}

bool make_signal_row(arch::Instructions instructions, CfiScratch& scratch) {
    const auto begin = reinterpret_cast<uintptr_t>(instructions.bytes);
    scratch.row = Row{};
    scratch.row.signal_frame = true;
    return run({begin, {begin, begin + instructions.count}}, Cie{}, 0, 0, 0, scratch);
}

bool find_row_linear(const CfiSections& sections, uintptr_t eh_frame, uintptr_t address, CfiScratch& scratch) {
    Fde fde;
    return find_fde_linear(sections, eh_frame, address, scratch, fde) &&
           make_row(fde, sections.eh_frame_hdr, address, scratch);
}

Rule compress(const Row& row, uintptr_t address) {
    Rule rule;
    Rule hard;
    hard.cfa = Rule::kEveryRegister;
    hard.signal_frame = row.signal_frame;
    hard.read_from_code = row.read_from_code;
    if (!compress_register(row.registers[arch::kReturnAddress], address, rule.return_address, rule.return_offset))
        return hard;
    if (rule.return_address == Rule::kUnchanged) return hard;
    rule.signal_frame = row.signal_frame;
    rule.read_from_code = row.read_from_code;
    rule.other_stack = row.other_stack;
    if (rule.return_address == Rule::kNoCaller) {
        rule.cfa = Rule::kStack;
        return rule;
    }
    Value cfa{Value::kRegisterPlus, row.cfa_register, row.cfa_offset};
    if (row.cfa_expression && !evaluate(row.cfa_expression, address, nullptr, nullptr, nullptr, cfa))
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
        if (!evaluate(row.cfa_expression, address, &registers, &memory, nullptr, value)) return false;
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
            if (!evaluate(rule.expression, address, &registers, &memory, &on_stack, value)) return false;
            if (!read(context, static_cast<uintptr_t>(value.number), out)) return false;
            break;
        case RegisterRule::kExpression:
            if (!evaluate(rule.expression, address, &registers, &memory, &on_stack, value)) return false;
            out = static_cast<uintptr_t>(value.number);
            break;
        }
    }
    registers = caller;
    return true;
}

} // namespace memtoll::unwind
