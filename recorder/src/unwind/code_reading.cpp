#include "code_reading.hpp"

#include "../kernel.hpp"

#include <cstring>

namespace memtoll::unwind {

using arch::Instruction;

bool follows_call(uintptr_t address) {
    uint8_t before[arch::kLongestCall];
    return kernel::copy(before, address - sizeof before, sizeof before) == sizeof before && arch::ends_with_call(before);
}

Instruction CodeReader::instruction_at(uintptr_t address) {
    const auto is_inside = [&](size_t bytes) { return address - window_at_ + bytes <= window_bytes_ && address >= window_at_; };
    if (!is_inside(arch::kLongestInstruction)) {
        window_at_ = address;
        window_bytes_ = kernel::copy(window_, address, sizeof window_);
    }
    const size_t at = address - window_at_;
    return arch::read_instruction(window_ + at, window_bytes_ - at);
}

bool CodeReader::is_new(uintptr_t target) {
    const auto distance = static_cast<uint32_t>(target - begin_) | 1;
    uint32_t& seen = seen_[distance * 0x9e3779b1u >> 23];
    static_assert(kSeen == 1u << 9);
    if (seen == distance) return false;
    seen = distance;
    return true;
}

void CodeReader::restore(unsigned reg, int64_t offset) {
    way_.saved[reg] = static_cast<int32_t>(offset);
    way_.restored |= static_cast<uint16_t>(1u << reg);
}

// The way ends at a return.
void CodeReader::arrive() {
    if (is_aligned_ && !way_.from_frame && way_.offset % 16 != 8) return;
    for (unsigned i = 0; i < found_count_; ++i) {
        const Way& known = found_[i].way;
        if (known.offset != way_.offset || known.from_frame != way_.from_frame) continue;
        ++found_[i].ways;
        return;
    }
    if (found_count_ < kMostFound) found_[found_count_++] = {way_, 1};
}

void CodeReader::follow() {
    for (; steps_ < kMostSteps; ++steps_) {
        const Instruction instruction = instruction_at(way_.at);
        const uintptr_t target = way_.at + static_cast<uintptr_t>(instruction.distance);
        way_.at += instruction.bytes;
        switch (instruction.effect) {
        case Instruction::kUnknown: return;
        case Instruction::kNone: break;
        case Instruction::kMove: way_.offset += instruction.amount; break;
        case Instruction::kPop:
            restore(instruction.reg, way_.offset);
            way_.offset += sizeof(uintptr_t);
            break;
        case Instruction::kLoad: restore(instruction.reg, way_.offset + instruction.amount); break;
        case Instruction::kFromFrame:
            if (way_.restored) return; // by two registers: no function ends like this
            way_.from_frame = true;
            way_.offset = instruction.amount;
            break;
        case Instruction::kLeave:
            if (way_.restored) return;
            way_.from_frame = true;
            restore(arch::kFramePointer, 0);
            way_.offset = sizeof(uintptr_t);
            break;
        case Instruction::kBranch:
            if (branch_count_ < kMostBranches && is_new(target)) {
                branches_[branch_count_] = way_;
                branches_[branch_count_++].at = target;
            }
            break;
        case Instruction::kJump:
            if (!is_new(target)) return;
            way_.at = target;
            break;
        case Instruction::kReturn: arrive(); return;
        }
    }
}

bool CodeReader::read(uintptr_t address, bool after_call, Row& row) {
    begin_ = address;
    is_aligned_ = after_call;
    steps_ = branch_count_ = found_count_ = 0;
    window_bytes_ = 0; // there may be other code now
    memset(seen_, 0, sizeof seen_);
    way_ = {};
    way_.at = address;
    follow();
    while (branch_count_ > 0 && steps_ < kMostSteps) {
        way_ = branches_[--branch_count_];
        follow();
    }
    const Found* best = nullptr;
    bool is_only = true;
    for (unsigned i = 0; i < found_count_; ++i) {
        if (!best || found_[i].ways > best->ways) best = &found_[i], is_only = true;
        else if (found_[i].ways == best->ways) is_only = false;
    }
    if (!best || !is_only) return false;
    const Way& way = best->way;
    row = Row{};
    row.read_from_code = true;
    row.cfa_register = way.from_frame ? arch::kFramePointer : arch::kStackPointer;
    row.cfa_offset = way.offset + int64_t{sizeof(uintptr_t)};
    const auto at_cfa = [&](unsigned reg, int64_t offset) {
        row.registers[reg].kind = RegisterRule::kAtCfa;
        row.registers[reg].value = offset - row.cfa_offset;
    };
    at_cfa(arch::kReturnAddress, way.offset);
    for (unsigned reg = 0; reg < arch::kReturnAddress; ++reg)
        if (way.restored >> reg & 1) at_cfa(reg, way.saved[reg]);
    return true;
}

} // namespace memtoll::unwind
