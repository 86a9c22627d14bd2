// Headers that keep a compiler busy.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <random>
#include <ranges>
#include <regex>
#include <sstream>
#include <unordered_map>
#include <variant>

int count_words(const std::string& text) {
    const std::regex word("[a-z]+");
    return static_cast<int>(std::distance(std::sregex_iterator(text.begin(), text.end(), word), std::sregex_iterator()));
}
