// What the gate decides, as tables without side effects.
//
// What can have happened to a thread that enters a hook, how it shows, and what follows:
//
//   fork                the state is wiped, the session still the parent's        kForkedChild
//   attached again      the state is out of date: its mode says so                kNew
//   thread ends         it has given up its state; its last frees borrow one      kNew
//   dlclose             its mode says so                                          kCodeGone
//   signal handler      the guard is held, and the stack leads through a handler  kBorrow
//   longjmp, exception  the guard is held by a hook that is not on the stack      kTakeBack
//   sandbox             no system call is made (kernel.hpp); states were made in advance
//   dlopen              on_load (gate.hpp)
#pragma once

#include "../session.hpp"
#include "thread_state.hpp"

namespace memtoll {

// Where a thread stands that enters a hook.
enum class Standing {
    kOff,         // nothing is recorded in this process
    kForkedChild, // its first event since a fork
    kNew,         // its first event, or its last ones
    kCodeGone,    // what it remembers about code does not hold any longer
    kKnown,
};

// `session_is_parents`: this is a forked child in which nothing has been recorded. Only asked of threads without a state.
template <class IsParents>
constexpr Standing standing(uint32_t session_state, ThreadState::Mode mode, IsParents session_is_parents) {
    if (session_state == Session::kOff) return Standing::kOff;
    if (mode == ThreadState::kNone) return session_is_parents() ? Standing::kForkedChild : Standing::kNew;
    return mode == ThreadState::kCheck ? Standing::kCodeGone : Standing::kKnown;
}

// Who holds a slot's guard.
enum class Holder { kNobody, kRealCall, kRecorder };

constexpr Holder holder_of(uint64_t guard) {
    if (guard == 0) return Holder::kNobody;
    return guard & wire::kRecorderAtWork ? Holder::kRecorder : Holder::kRealCall;
}

enum class Verdict {
    kPass,     // forward, do not record: the allocator's own call, not the program's
    kRecord,   // with the thread's own state
    kTakeBack, // the same; the hook that held the guard is gone
    kBorrow,   // with another state: the interrupted hook will go on with this one, whose stack cache may be half-changed
};

// `found`: whether one of the callers is a hook. Where the real function runs and the stack cannot be followed, it is taken
// to be the allocator itself that calls; where the recorder runs, which calls no hook, it is a signal handler.
constexpr Verdict verdict(Holder holder, unwind::CallerSearch::Found found) {
    constexpr Verdict kVerdicts[3][4] = {
        //                kNo                 kCaller          kInterrupted       kUnknown
        /* kNobody   */ {Verdict::kRecord,   Verdict::kRecord, Verdict::kRecord, Verdict::kRecord},
        /* kRealCall */ {Verdict::kTakeBack, Verdict::kPass,   Verdict::kBorrow, Verdict::kPass},
        /* kRecorder */ {Verdict::kTakeBack, Verdict::kPass,   Verdict::kBorrow, Verdict::kBorrow},
    };
    static_assert(unwind::CallerSearch::kNo == 0 && unwind::CallerSearch::kUnknown == 3);
    return kVerdicts[static_cast<int>(holder)][found];
}

} // namespace memtoll
