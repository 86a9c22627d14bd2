// Where a row keeps its attributes: one run, as most rows have, in the row itself.
#pragma once

#include "text_attribute.hpp"

#include <boost/container/small_vector.hpp>

using Runs = boost::container::small_vector<TextAttributeRun, 1>;
