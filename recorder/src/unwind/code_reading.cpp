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
    const size_t at = address % Window::kBytes;
    Window& window = windows_[address / Window::kBytes % kWindows];
    if (window.at != address - at) {
        window.at = address - at;
        window.bytes = kernel::copy(window.code, window.at, sizeof window.code);
    }
    return arch::read_instruction(window.code + at, at < window.bytes ? window.bytes - at : 0);
}

bool CodeReader::is_new(uintptr_t target) {
    const auto distance = static_cast<uint32_t>(target - begin_) | 1;
    uint32_t& seen = seen_[distance * 0x9e3779b1u >> 23];
    static_assert(kSeen == 1u << 9);
    if (seen == distance) return false;
    seen = distance;
    return true;
}

// False if the register was saved by another function than the one that called: below its stack pointer there was nothing yet.
bool CodeReader::restore(unsigned reg, int64_t offset) {
    if (!arch::is_preserved(reg)) return true;
    if (reg == arch::kFramePointer) way_.loads_frame = false;
    if (offset < 0 && !way_.from_frame) return false;
    if (offset < way_.written) return true; // the function where it jumped to at its end saved and restored it
    way_.saved[reg] = static_cast<int32_t>(offset);
    way_.restored |= static_cast<uint16_t>(1u << reg);
    return true;
}

// From the frame pointer on, and the stack pointer is there or `offset` bytes beside it. False if a register has been taken back
// already: no function ends like this.
bool CodeReader::count_from_frame(int64_t offset) {
    if (way_.restored) return false;
    way_.from_frame = true;
    way_.offset = offset;
    way_.written = INT64_MIN;
    return true;
}

// Whether the frame has been taken back: then a jump goes to another function, and else to another place in this one.
bool CodeReader::is_at_return_address() const {
    if (way_.from_frame) return way_.restored >> arch::kFramePointer & 1 && way_.offset == sizeof(uintptr_t);
    return is_aligned_ && way_.offset > 0 && way_.offset % 16 == 8;
}

// Code that V8 was built with takes its caller's frame pointer from the frame and leaves: then all is where the frame pointer
// says, also if functions that it called have taken their arguments from the stack. A register like others, which a list was
// followed in, would have been taken back.
bool CodeReader::ends_with_loaded_frame() {
    if (!way_.loads_frame || way_.offset <= 0) return false;
    way_.from_frame = true;
    way_.offset = sizeof(uintptr_t);
    way_.restored = 1u << arch::kFramePointer;
    way_.saved[arch::kFramePointer] = 0;
    return true;
}

// Whether a jump behind a part of a function's end may lead to another function, not to the rest of the end, which several ends
// of a function share.
bool CodeReader::is_function(uintptr_t target) {
    constexpr uintptr_t kAlignment = 16; // of functions, as compilers write them
    if (target % kAlignment != 0) return false;
    const Instruction first = instruction_at(target);
    return first.effect != Instruction::kPop && first.effect != Instruction::kReturn && first.effect != Instruction::kLeave &&
           !(first.effect == Instruction::kMove && first.amount > 0);
}

bool CodeReader::has_frame_pointer() const {
    constexpr unsigned kEnough = 16; // where only a part of the function was read
    return !denies_frame_ && uses_frame_ >= (steps_ < kMostSteps ? 1 : kEnough);
}

// The way ends at a return.
void CodeReader::arrive() {
    if (way_.switched) return; // on another stack
    if (is_aligned_ && !way_.from_frame && way_.offset % 16 != 8) return;
    if (!is_aligned_ && !way_.restored) return; // nothing says that it is this function's end
    for (unsigned i = 0; i < found_count_; ++i) {
        const Way& known = found_[i].way;
        const auto is_same = [&](auto member) { return known.*member == way_.*member; };
        if (!is_same(&Way::offset) || !is_same(&Way::from_frame) || !is_same(&Way::restored) ||
            memcmp(known.saved, way_.saved, sizeof known.saved) != 0)
            continue;
        ++found_[i].ways;
        return;
    }
    if (found_count_ < kMostFound) found_[found_count_++] = {way_, 1};
}

void CodeReader::follow() {
    unsigned since_call = begins_after_call_ && way_.at == begin_ ? 1 : 0; // instructions that do nothing, and the call
    for (; steps_ < kMostSteps; ++steps_) {
        const Instruction instruction = instruction_at(way_.at);
        const bool is_nop = instruction.effect == Instruction::kNop;
        if (since_call > 1 && !is_nop && way_.at % 16 == 0) return;
        since_call = instruction.effect == Instruction::kCall ? 1 : is_nop && since_call > 0 ? since_call + 1 : 0;
        const uintptr_t target = way_.at + static_cast<uintptr_t>(instruction.distance);
        const bool has_freed = way_.frees;
        way_.frees = instruction.effect == Instruction::kPop || instruction.effect == Instruction::kLeave ||
                     (instruction.effect == Instruction::kMove && instruction.amount > 0);
        way_.at += instruction.bytes;
        uses_frame_ += instruction.uses_frame;
        denies_frame_ |= instruction.denies_frame;
        switch (instruction.effect) {
        case Instruction::kUnknown:
            // Generated code drops its caller's arguments when it returns: it has taken the return address along, which lay
            // beside the frame pointer.
            if (!way_.from_frame || way_.offset <= int64_t{sizeof(uintptr_t)}) return;
            way_.offset = sizeof(uintptr_t);
            arrive();
            return;
        case Instruction::kEntry: return;
        case Instruction::kSwitch: way_.switched = true; break;
        case Instruction::kNone:
        case Instruction::kCall:
        case Instruction::kNop: break;
        case Instruction::kMove:
            if (instruction.amount < 0 && way_.offset > way_.written) way_.written = way_.offset;
            way_.offset += instruction.amount;
            break;
        case Instruction::kPop:
            if (!restore(instruction.reg, way_.offset)) return;
            way_.offset += sizeof(uintptr_t);
            break;
        case Instruction::kLoad:
            if (!restore(instruction.reg, way_.offset + instruction.amount)) return;
            break;
        case Instruction::kFromFrame:
            if (!count_from_frame(instruction.amount)) return;
            break;
        case Instruction::kLoadFrame: way_.loads_frame = !way_.from_frame; break;
        case Instruction::kLeave:
            if (!count_from_frame(0) || !restore(arch::kFramePointer, 0)) return;
            way_.offset = sizeof(uintptr_t);
            break;
        case Instruction::kBranch:
            if (branch_count_ < kMostBranches && is_new(target)) {
                branches_[branch_count_] = way_;
                branches_[branch_count_++].at = target;
            }
            break;
        case Instruction::kReturn:
            if (way_.offset >= way_.written) {
                switches_ |= way_.switched;
                ends_with_loaded_frame();
                arrive();
                return;
            }
            way_.offset += sizeof(uintptr_t); // it has pushed where it goes
            [[fallthrough]];
        case Instruction::kLeap:
            // An interpreter goes on to the next instruction like this, from anywhere.
            if (ends_with_loaded_frame() || ((is_in_file_ || way_.from_frame) && is_at_return_address())) arrive();
            return;
        case Instruction::kJump:
            // To another function, which returns for this one: as far as the end of that, it may be a long way.
            if ((way_.from_frame || (has_freed && (way_.restored || is_function(target)))) && is_at_return_address()) {
                arrive();
                return;
            }
            if (!is_new(target)) return;
            way_.at = target;
            break;
        }
    }
}

void CodeReader::make_row(const Way& way, Row& row) {
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
}

bool CodeReader::read(Place place, Row& row) {
    is_in_file_ = place.in_file;
    for (Window& window : windows_) window.at = window.bytes = 0; // there may be other code now
    // Assembly in files may not care for the ABI.
    uses_frame_ = 0;
    denies_frame_ = switches_ = false;
    begins_after_call_ = place.after_call;
    if (place.after_call && read_ways(place.address, true, row)) return true;
    if (place.in_file && read_ways(place.address, false, row)) return true;
    if (!place.after_call || !(switches_ ? !denies_frame_ : has_frame_pointer())) return false;
    follow_frame_pointer(row);
    row.other_stack = switches_;
    return true;
}

bool CodeReader::read_ways(uintptr_t address, bool is_aligned, Row& row) {
    begin_ = address;
    is_aligned_ = is_aligned;
    steps_ = branch_count_ = found_count_ = 0;
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
    make_row(best->way, row);
    return true;
}

void CodeReader::follow_frame_pointer(Row& row) {
    Way way;
    way.from_frame = true;
    way.offset = sizeof(uintptr_t);
    way.restored = 1u << arch::kFramePointer;
    make_row(way, row);
}

} // namespace memtoll::unwind
