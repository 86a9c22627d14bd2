#include "recording.hpp"

#include "modules.hpp"
#include "program_break.hpp"
#include "session.hpp"
#include "threads/state_pool.hpp"
#include "threads/thread_id.hpp"
#include "threads/thread_life.hpp"

namespace memtoll {

bool recording() {
    const uint32_t now = session.state.load(std::memory_order_acquire);
    if (now == Session::kRecording) return true;
    if (now != Session::kFresh || !session.begin_start()) return false;
    start_program_break();
    thread_id(); // while it may be asked for
    return session.end_start(session.connect() && prepare_threads());
}

wire::AttachResult record_again(const char* directory) {
    if (!session.begin_next()) {
        session.end_start(false);
        return wire::kBusy;
    }
    const bool older_is_held = state_pool::retire();
    if (!session.is_marked()) forget_threads();
    forget_modules();
    session.set_directory(directory);
    const bool connected = session.end_start(session.connect_next(older_is_held) && prepare_threads());
    return connected ? wire::kAttached : wire::kUnreachable;
}

bool restart_in_child() {
    session.begin_restart();
    forget_modules();
    forget_threads();
    return session.end_start(session.connect_child());
}

} // namespace memtoll
