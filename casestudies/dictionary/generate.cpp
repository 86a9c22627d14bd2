// Writes a file in the format of CC-CEDICT with what matters here of its statistics (April 2026): how long the four parts
// of an entry are, how many entries look the same in traditional and simplified characters, comments at the start, CR LF.
// The words mean nothing. The same file each time:
//
//     dictionary-generate [ENTRIES] >FILE        (120,000 entries)
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>

namespace {

std::uint32_t random_number() { // Knuth's MMIX generator; the high bits are the good ones
    static std::uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state >> 32);
}

std::uint32_t below(std::uint32_t limit) { return random_number() % limit; }
bool happens(unsigned percent) { return below(100) < percent; }

// A quantile of the real file's entries, and their lengths up to it.
struct Quantile {
    unsigned per_mille;
    unsigned length;
};
constexpr Quantile kHeadword[] = {{0, 1},   {108, 1}, {109, 2}, {604, 2}, {605, 3},
                                  {800, 3}, {801, 4}, {954, 4}, {977, 5}, {1000, 12}};
constexpr Quantile kSenses[] = {{0, 3},    {10, 5},   {100, 11},  {250, 18},  {500, 30},
                                {750, 54}, {900, 82}, {990, 169}, {1000, 300}};

template <std::size_t N> unsigned length_from(const Quantile (&quantiles)[N]) {
    const unsigned at = below(1000);
    std::size_t i = 1;
    while (quantiles[i].per_mille <= at) ++i;
    const Quantile &from = quantiles[i - 1], &to = quantiles[i];
    return from.length + (to.length - from.length) * (at - from.per_mille) / (to.per_mille - from.per_mille);
}

constexpr const char* kSyllables[] = {"a", "bei", "chuang", "dian", "er", "fang", "guo", "hua", "jing", "li", "ming",
                                      "nian", "ping", "qi", "ren", "shang", "tong", "wu", "xue", "yang", "zhong"};
constexpr const char* kWords[] = {"to", "of", "the", "a", "(idiom)", "variant", "old", "and", "abbr.", "for", "person",
                                  "water", "time", "to be", "county", "in", "mountain", "light", "surname", "literary",
                                  "to examine", "carefully", "government", "electric", "(coll.)", "instrument", "or"};

template <std::size_t N> const char* any(const char* const (&texts)[N]) { return texts[below(N)]; }

void append_character(std::string& text) {
    const unsigned c = 0x4e00 + below(0x5000); // three bytes each
    text += static_cast<char>(0xe0 | c >> 12);
    text += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (c & 0x3f));
}

std::string entry() {
    std::string traditional, pinyin, senses;
    const unsigned characters = length_from(kHeadword);
    for (unsigned i = 0; i < characters; ++i) {
        append_character(traditional);
        if (i > 0) pinyin += ' ';
        pinyin += any(kSyllables);
        pinyin += static_cast<char>('1' + below(5));
    }
    std::string simplified = traditional;
    if (!happens(38)) { // another character, of the same length
        simplified.resize(simplified.size() - 3);
        append_character(simplified);
    }
    const unsigned length = length_from(kSenses);
    while (senses.size() < length) {
        if (!senses.empty()) senses += happens(10) ? '/' : ' ';
        senses += any(kWords);
    }
    return traditional + ' ' + simplified + " [" + pinyin + "] /" + senses + "/\r\n";
}

} // namespace

int main(int argc, char** argv) {
    const long entries = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 120000;
    std::fputs("# A generated file in the format of CC-CEDICT\r\n#\r\n", stdout);
    for (long i = 0; i < entries; ++i) std::fputs(entry().c_str(), stdout);
    return std::fflush(stdout) == 0 ? 0 : 1;
}
