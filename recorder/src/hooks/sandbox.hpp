// Programs that forbid themselves system calls (seccomp) or the processor's clock (prctl).
#pragma once

namespace memtoll {

// A call by which the program may forbid itself something. The recorder obeys from before the call on, since what comes
// right after it may be forbidden, and takes that back if the call fails: many programs only ask what the kernel can do.
class Forbidding {
public:
    // `first` and `second`: the arguments behind the option.
    static Forbidding by_prctl(int option, unsigned long first, unsigned long second);
    static Forbidding by_seccomp(unsigned long operation, unsigned long flags, unsigned long filter);

    // What follows from the call's result, which is returned.
    template <class Result> Result settle(Result result) const {
        take_back_unless(succeeded(static_cast<long>(result)));
        return result;
    }

private:
    Forbidding(bool calls, bool counter, bool may_return_descriptor = false);
    // With SECCOMP_FILTER_FLAG_TSYNC, a number above 0 is that of a thread that could not follow.
    bool succeeded(long result) const { return result == 0 || (result > 0 && may_return_descriptor_); }
    void take_back_unless(bool succeeded) const;

    bool calls_;   // system calls: the recorder makes none
    bool counter_; // the time stamp counter: it is not read
    bool may_return_descriptor_;
};

} // namespace memtoll
