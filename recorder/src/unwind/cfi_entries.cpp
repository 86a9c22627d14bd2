#include "cfi_entries.hpp"

#include "cfi_scratch.hpp"
#include "resident_tables.hpp"

#include <atomic>

namespace memtoll::unwind {
namespace {

struct Entry {
    bool is_cie = false;
    uintptr_t cie = 0; // of an FDE
    Reader body{0, {}};
    uintptr_t next = 0;
};

// Reads the length and the CIE pointer of the entry at `at`. False at the terminator, beyond the end, or on damage.
bool read_entry(uintptr_t at, const Range& range, Entry& entry) {
    Reader reader{at, range};
    uint64_t length = reader.fixed<uint32_t>();
    if (length == 0xffffffff) length = reader.fixed<uint64_t>();
    if (!reader.ok || length == 0 || length > range.end - reader.at) return false;
    entry.next = reader.at + length;
    reader.range = {at, entry.next};
    const uintptr_t pointer_at = reader.at;
    const uint32_t offset = reader.fixed<uint32_t>();
    if (!reader.ok) return false;
    entry.is_cie = offset == 0;
    if (!entry.is_cie && offset > pointer_at - range.begin) return false;
    entry.cie = pointer_at - offset;
    entry.body = reader;
    return true;
}

bool read_cie(uintptr_t at, const Range& range, Cie& cie) {
    Entry entry;
    if (!read_entry(at, range, entry) || !entry.is_cie) return false;
    Reader& body = entry.body;
    const uint8_t version = body.fixed<uint8_t>();
    if (version != 1 && version != 3 && version != 4) return false;
    char augmentation[8];
    unsigned letters = 0;
    for (;;) {
        const char letter = body.fixed<char>();
        if (!body.ok) return false;
        if (letter == 0) break;
        if (letters == sizeof augmentation) return false;
        augmentation[letters++] = letter;
    }
    if (version == 4) {
        const uint8_t address_bytes = body.fixed<uint8_t>();
        const uint8_t segment_bytes = body.fixed<uint8_t>();
        if (address_bytes != sizeof(uintptr_t) || segment_bytes != 0) return false;
    }
    cie.code_align = body.uleb();
    cie.data_align = body.sleb();
    cie.return_register = version == 1 ? body.fixed<uint8_t>() : body.uleb();
    if (letters > 0) {
        if (augmentation[0] != 'z') return false; // without a length nothing after it can be found
        cie.has_augmentation = true;
        const uint64_t bytes = body.uleb();
        if (!body.ok || bytes > body.range.end - body.at) return false;
        const uintptr_t after = body.at + bytes;
        for (unsigned i = 1; i < letters; ++i) {
            switch (augmentation[i]) {
            case 'R': cie.pointer_encoding = body.fixed<uint8_t>(); break;
            case 'S': cie.signal_frame = true; break;
            case 'L': body.skip(1); break;
            case 'P': {
                const uint8_t encoding = body.fixed<uint8_t>();
                encoded(body, encoding & uint8_t{kFormMask | kPcRelative}, 0);
                break;
            }
            default: i = letters; // an unknown letter: what follows is unknown, but its length is not
            }
        }
        body.at = after;
    }
    if (!body.ok || cie.return_register >= arch::kRegisterCount) return false;
    cie.instructions = body;
    return true;
}

// Has the CIE at `at` in scratch.cie.
bool know_cie(uintptr_t at, const Range& range, CfiScratch& scratch) {
    if (at == scratch.cie_at) return true;
    scratch.cie_at = 0; // should a signal handler's longjmp leave us here half-way
    std::atomic_signal_fence(std::memory_order_seq_cst);
    scratch.cie = Cie{};
    scratch.has_initial = false;
    if (!read_cie(at, range, scratch.cie)) return false;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    scratch.cie_at = at;
    return true;
}

// Reads the FDE at `at`, if it covers `address`.
bool read_fde(uintptr_t at, const CfiSections& sections, uintptr_t address, CfiScratch& scratch, Fde& fde) {
    const Range& range = sections.frame_range;
    Entry entry;
    if (!read_entry(at, range, entry) || entry.is_cie || !know_cie(entry.cie, range, scratch)) return false;
    const Cie& cie = scratch.cie;
    Reader& body = entry.body;
    fde.start = encoded(body, cie.pointer_encoding, sections.eh_frame_hdr);
    const uintptr_t length = encoded(body, cie.pointer_encoding & kFormMask, 0);
    if (!body.ok || address - fde.start >= length) return false;
    if (cie.has_augmentation) body.skip(body.uleb());
    fde.instructions = body;
    return body.ok;
}

} // namespace

bool find_fde_linear(const CfiSections& sections, uintptr_t eh_frame, uintptr_t address, CfiScratch& scratch, Fde& fde) {
    Entry entry;
    for (uintptr_t at = eh_frame; read_entry(at, sections.frame_range, entry); at = entry.next)
        if (!entry.is_cie && read_fde(at, sections, address, scratch, fde)) return true;
    return false;
}

bool find_fde(const CfiSections& sections, uintptr_t address, CfiScratch& scratch, Fde& fde) {
    // .eh_frame_hdr (LSB 5.0 section 10.6.2): version, three encodings, the address of .eh_frame, and a table of
    // (first address, FDE) sorted by address.
    Reader header{sections.eh_frame_hdr, sections.header_range};
    const uint8_t version = header.fixed<uint8_t>();
    const uint8_t frame_encoding = header.fixed<uint8_t>();
    const uint8_t count_encoding = header.fixed<uint8_t>();
    const uint8_t table_encoding = header.fixed<uint8_t>();
    if (!header.ok || version != 1 || frame_encoding == kOmitted) return false;
    const uintptr_t eh_frame = encoded(header, frame_encoding, sections.eh_frame_hdr);
    if (!header.ok) return false;
    constexpr uint8_t kSortedTable = kDataRelative | kS4;
    if (count_encoding == kOmitted || table_encoding != kSortedTable)
        return find_fde_linear(sections, eh_frame, address, scratch, fde);
    const uintptr_t count = encoded(header, count_encoding, sections.eh_frame_hdr);
    struct Pair {
        int32_t start, fde;
    };
    if (!header.ok || count == 0 || count > (header.range.end - header.at) / sizeof(Pair)) return false;
    const uintptr_t table = header.at;
    auto pair = [&](uintptr_t index) {
        Pair p;
        memcpy(&p, reinterpret_cast<const void*>(table + index * sizeof(Pair)), sizeof p);
        return p;
    };
    const intptr_t wanted = static_cast<intptr_t>(address - sections.eh_frame_hdr);
    uintptr_t low = 0, high = count; // the last entry that starts at or before the address is in [low, high)
    while (high - low > 1) {
        const uintptr_t middle = low + (high - low) / 2;
        if (pair(middle).start <= wanted) low = middle;
        else high = middle;
    }
    const uintptr_t entry = sections.eh_frame_hdr + static_cast<uintptr_t>(intptr_t{pair(low).fde});
    tables_read::note(table + low * sizeof(Pair));
    tables_read::note(entry);
    return read_fde(entry, sections, address, scratch, fde);
}

} // namespace memtoll::unwind
