// How the kernel zeroes pages on this processor, for programs that measure what that takes (machine/). A port's zeroing.hpp
// provides, in memtoll::arch, the class KernelZeroing: zero(page, bytes) zeroes as the kernel's clear_page does.
#pragma once

#if defined(__x86_64__)
#include "x86_64/zeroing.hpp"
#else
#error "another processor needs a folder of its own in recorder/src/arch"
#endif
