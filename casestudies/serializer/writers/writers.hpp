// The ways to write an object. All write the same text, one line for each object:
//
//     17 house x=-1022.375 y=8.250 z=31999.001 flags=00c0ffee
#pragma once

#include "object.hpp"
#include "slice.hpp"

using Writer = void (*)(const Object&, Slice&);

inline constexpr std::size_t kMostBytesOfAnObject = 96;

void write_with_sprintf(const Object&, Slice&);       // of our own runtime library: frees a buffer it rarely has
void write_with_asprintf(const Object&, Slice&);      // a block for each field
void write_with_ostringstream(const Object&, Slice&); // a stream for each object
void write_with_to_chars(const Object&, Slice&);      // straight to the slice
