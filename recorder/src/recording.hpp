// Starts recording, and starts it again in a forked child: the session, and what lives as long as it does.
#pragma once

#include "wire.hpp"

namespace memtoll {

// Connects to the supervisor on first use. True while events are recorded.
bool recording();

// For the next supervisor of a running process, whose directory this is. No thread is about to enter a hook.
wire::AttachResult record_again(const char* directory);

// After a fork, in the child: begins anew, with an arena of its own in the place of the parent's.
bool restart_in_child();

} // namespace memtoll
