// The recorder's connection with the supervisor: the arena, and whether anything is recorded at all.
#pragma once

#include "stack_tree.hpp"
#include "wire.hpp"

#include <atomic>

namespace memtoll {

struct Session {
    enum State : uint32_t {
        kFresh,    // nothing happened yet
        kStarting, // a thread is connecting; others pass through
        kRecording,
        kOff, // no supervisor, or it said no, or it is gone: everything passes through, for good
    };

    std::atomic<uint32_t> state{kFresh};
    // How many supervisors this process has had, the present one included: thread states know whose they are.
    std::atomic<uint32_t> epoch{1};
    wire::ArenaHeader* arena = nullptr;
    // When the process was last about to fork, ticks: a child inherits this, too. 0: it is not.
    std::atomic<uint64_t> forked_at{0};
    StackTree tree;

    char* at(uint64_t offset) const { return reinterpret_cast<char*>(arena) + offset; }
    wire::ThreadSlot* slots() const { return reinterpret_cast<wire::ThreadSlot*>(at(arena->slots_offset)); }
    wire::Chunk* chunk(uint32_t number) const {
        return reinterpret_cast<wire::Chunk*>(at(arena->chunks_offset)) + number;
    }

    // -- to be used by recording.cpp --

    // Where the supervisor is, for a recorder that was not loaded from its directory.
    void set_directory(const char* path);
    // Whether it was loaded from there.
    bool find_directory();
    // True for the one thread that is to start the session.
    bool begin_start();
    // In a forked child: what was the parent's is over.
    void begin_restart();
    bool connect() { return mark_process() && connect(false); }
    // Takes an arena of its own, in the place of the parent's.
    bool connect_child();
    // For the next supervisor: what was the last one's is over. False: a thread is busy with it for longer than it may be.
    bool begin_next();
    // `older_is_held`: an interrupted hook may yet write into the arena of the supervisor before the last one.
    bool connect_next(bool older_is_held);
    // Returns whether events are recorded from here on.
    bool end_start(bool connected);

    // -- to be used by all --

    // While it lives, a thread takes a state, gives one up or changes one, and none of its guards says so. The next supervisor's
    // session begins when there are none.
    class Changing {
    public:
        explicit Changing(Session& session) : session_(session) { session_.changing_.fetch_add(1, std::memory_order_seq_cst); }
        ~Changing() { session_.changing_.fetch_sub(1, std::memory_order_release); }
        Changing(const Changing&) = delete;

    private:
        Session& session_;
    };

    // Whether this is a forked child in which the session is still its parent's.
    bool is_parents() const {
        return state.load(std::memory_order_acquire) == kRecording && process_mark_->load(std::memory_order_relaxed) == 0;
    }

    // Unmaps most of what the arena holds in reserve. What remains is for some more threads and call paths; others are then
    // counted as dropped and as cut off. For once: what comes to lie in the gaps is the program's.
    void give_back_addresses();

    // The program is about to forbid itself the time stamp counter: in its forked children, too. If it then cannot, this is
    // taken back.
    void give_up_counter();
    void take_back_counter();

    // Hands the supervisor a file that is about to be loaded: the program may delete or replace it at once.
    void show_file(const char* path);

    // How the allocators that are mapped now can be redirected (wire::PlanHeader). Answered by end_plan().
    struct Plan {
        const char* content = nullptr; // null: there is nothing to be done
        size_t bytes = 0;
        long file = -1; // with the same content
        long socket = -1;
    };
    Plan ask_for_plan(const uint64_t (&hooks)[wire::kOwnHooks], const wire::Interposed* interposed, size_t count, uint64_t finder);
    void end_plan(const Plan& plan, const wire::Placed* placed, size_t regions);

    // Nothing more is recorded in this process image.
    void stop() { state.store(kOff, std::memory_order_release); }

    // Whether the program's memory is limited: then what is reserved for threads to come is missing elsewhere.
    bool is_limited() const { return is_limited_.load(std::memory_order_relaxed); }

    // Not in a forked child that has said nothing yet to a supervisor.
    bool is_marked() const { return process_mark_ && process_mark_->load(std::memory_order_relaxed) != 0; }

    // The process that this image is. Another one may run on its memory for a while, between vfork and exec.
    uint32_t process_id() const { return process_id_; }

    // The private directory of this run, where the recorder was loaded from; empty when it is not known.
    const char* directory() const { return directory_; }

private:
    bool connect(bool forked);
    wire::Hello introduction() const;
    bool mark_process();
    void share_time();

    uint32_t process_id_ = 0;
    std::atomic<uint32_t> changing_{0}; // threads
    wire::ArenaHeader* older_ = nullptr; // the last supervisor's arena: a thread that was on its way into a hook may still come
    std::atomic<bool> has_gaps_{false}; // the arena
    std::atomic<bool> is_limited_{false};
    std::atomic<uint32_t> counter_forbidden_{0}; // calls that forbid it, and succeed or are being made
    std::atomic<uint32_t>* process_mark_ = nullptr; // 1; wiped in a forked child

    static constexpr unsigned kMaxPath = 256;
    char directory_[kMaxPath] = {};
};

extern Session session;

// The limit on the memory of this process, bytes; UINT64_MAX for none.
uint64_t memory_limit();

} // namespace memtoll
