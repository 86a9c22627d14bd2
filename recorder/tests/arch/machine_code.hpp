// Machine code that tests need. A port is one more folder here, whose machine_code.hpp provides, in memtoll::arch:
//
//   call_on()     calls a function with its stack below `top`, where the return address is the topmost word, or would be; to
//                 be inlined into a function whose frame is found by its distance from the stack pointer
//   CallingCode   the code of a function that calls another one and returns its result: `bytes`, and where the last byte of
//                 the call is, kLastByteOfCall
//   RestoringCode the same, which keeps the stack pointer in another register: how far it moved is not in the code
#pragma once

#include "arch/arch.hpp"

#if defined(__x86_64__)
#include "x86_64/machine_code.hpp"
#else
#error "another processor needs a folder of its own in recorder/tests/arch"
#endif
