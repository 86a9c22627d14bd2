// A string stream for each object: its buffer grows on the heap, and str() copies it to a second block.
#include "writers.hpp"

#include <iomanip>
#include <sstream>

void write_with_ostringstream(const Object& object, Slice& slice) {
    std::ostringstream stream;
    stream << object.id << ' ' << object.kind << std::fixed << std::setprecision(3) << " x=" << object.x
           << " y=" << object.y << " z=" << object.z << " flags=" << std::hex << std::setfill('0') << std::setw(8)
           << object.flags << '\n';
    slice.append(stream.str());
}
