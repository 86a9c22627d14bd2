#include "full_walk.hpp"

namespace memtoll::unwind {

FullWalk walk_every_register(const arch::CallerFrame& caller, RuleCache& rules, const StackMemory& memory,
                             NewFrame* frames, uint32_t limit) {
    arch::Registers registers{};
    arch::capture_registers(registers);
    struct Context {
        const StackMemory& memory;
        Lead lead;
        Reach last; // whether the word could be read that was asked for last
    } context{memory, {caller.return_slot, caller.return_slot, caller.return_slot}, Reach::kReadable};
    const ReadWord read = [](void* at, uintptr_t address, uintptr_t& value) {
        auto& c = *static_cast<Context*>(at);
        c.last = c.memory.reach(address, c.lead);
        if (c.last != Reach::kReadable) return false;
        value = word_at(address);
        return true;
    };
    uintptr_t& address = registers.value[arch::kReturnAddress];
    const uintptr_t& stack_pointer = registers.value[arch::kStackPointer];
    bool interrupted = true; // the capture itself is not a return address
    bool in_recorder = true;
    FullWalk walk{0, wire::kRootComplete};
    for (;;) {
        if (stack_pointer > caller.return_slot) in_recorder = false;
        const uintptr_t where = arch::code_address(address) - (interrupted ? 0 : 1);
        uint16_t module;
        const Row* row = rules.row(where, module);
        if (!in_recorder) {
            if (!row && walk.count > 0 && !interrupted && !memory.is_own(stack_pointer - sizeof(uintptr_t)) &&
                rules.is_data(where))
                return walk; // see StackCache::find_new_frames
            if (walk.count == limit) {
                walk.root = wire::kRootTooDeep;
                return walk;
            }
            frames[walk.count++].key = frame_key(module, where);
        }
        if (!row) {
            walk.root = memory.root_without_rule(stack_pointer, module != kNoModule);
            return walk;
        }
        if (row->registers[arch::kReturnAddress].kind == RegisterRule::kUndefined) return walk;
        const uintptr_t before = stack_pointer;
        // The stack pointer itself may stand above the last word of its stack.
        const uintptr_t last_word = before - sizeof(uintptr_t);
        const uintptr_t base = row->cfa_expression ? before : registers.value[row->cfa_register];
        context.lead = {last_word, last_word, base};
        context.last = Reach::kReadable;
        const bool applied = apply(*row, registers, read, &context);
        if (!applied && context.last == Reach::kPastStack) return walk;
        if (row->read_from_code && !(applied && rules.may_return_to(arch::code_address(address), module))) {
            walk.root = memory.root_without_rule(before, module != kNoModule);
            return walk;
        }
        if (row->read_from_code && !in_recorder) frames[walk.count - 1].key |= wire::kWithoutTables;
        if (!applied || (!row->signal_frame && !row->other_stack && stack_pointer < before)) {
            walk.root = wire::kRootBadFrame;
            return walk;
        }
        interrupted = row->signal_frame;
        if (address == 0) return walk;
    }
}

} // namespace memtoll::unwind
