// Where a row keeps its attributes.
#pragma once

#include "text_attribute.hpp"

#include <vector>

using Runs = std::vector<TextAttributeRun>;
