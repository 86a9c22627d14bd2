#include "full_walk.hpp"

namespace memtoll::unwind {

FullWalk walk_every_register(const arch::CallerFrame& caller, RuleCache& rules, const StackMemory& memory,
                             NewFrame* frames, uint32_t limit) {
    arch::Registers registers{};
    arch::capture_registers(registers);
    struct Context {
        const StackMemory& memory;
        uintptr_t known_good;
    } context{memory, caller.return_slot};
    const ReadWord read = [](void* at, uintptr_t address, uintptr_t& value) {
        const auto& c = *static_cast<Context*>(at);
        if (!c.memory.may_read(address, c.known_good)) return false;
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
        const uintptr_t where = interrupted ? address : address - 1;
        uint16_t module;
        const Row* row = rules.row(where, module);
        if (!in_recorder) {
            if (walk.count == limit) {
                walk.root = wire::kRootTooDeep;
                return walk;
            }
            frames[walk.count++].key = frame_key(module, where);
        }
        if (!row) {
            walk.root = memory.root_without_rule(stack_pointer);
            return walk;
        }
        if (row->registers[arch::kReturnAddress].kind == RegisterRule::kUndefined) return walk;
        context.known_good = stack_pointer;
        const uintptr_t before = stack_pointer;
        if (!apply(*row, registers, read, &context) || (!row->signal_frame && stack_pointer < before)) {
            walk.root = wire::kRootBadFrame;
            return walk;
        }
        interrupted = row->signal_frame;
        if (address == 0) return walk;
    }
}

} // namespace memtoll::unwind
