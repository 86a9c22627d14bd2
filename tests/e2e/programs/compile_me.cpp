// Compiled under memtoll by a test; never run.
#include <vector>

int sum(const std::vector<int>& numbers) {
    int result = 0;
    for (int number : numbers) result += number;
    return result;
}
