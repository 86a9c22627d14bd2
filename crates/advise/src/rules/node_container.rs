//! See node_container.md.

use crate::byte_costs::Work;
use crate::facts::{Draft, Facts};
use crate::finding::Confidence;
use crate::range::Range;
use crate::saving::{calls, pages, saves};
use crate::site::Site;
use memtoll_analysis::library::qualified_name;
use memtoll_text::format;

const FEWEST: u64 = 1000;
/// Bytes of a piece of libstdc++'s `std::deque`.
const PIECE: f64 = 512.0;

/// What takes the place of a class: its name, what to use, and how elements lie there.
struct Replacement {
    class: &'static str,
    change: &'static str,
    instead: &'static str,
    /// Bytes of a node beside its element.
    links: u64,
    /// The share of the room there that elements fill.
    filled: f64,
}

const REPLACEMENTS: [Replacement; 14] = [
    Replacement {
        class: "boost::container::deque",
        change: "Use a vector with reserve, if nothing is added at the front",
        instead: "std::vector<{element}> rows;\nrows.reserve(n);",
        links: 0,
        filled: 0.95,
    },
    Replacement {
        class: "std::deque",
        change: "Use a vector with reserve, if nothing is added at the front",
        instead: "std::vector<{element}> items;\nitems.reserve(n);",
        links: 0,
        filled: 0.95,
    },
    Replacement {
        class: "std::list",
        change: "Use a vector, or a deque, unless iterators must stay valid",
        instead: "std::vector<{element}> items;\nitems.reserve(n);",
        links: 16,
        filled: 1.0,
    },
    Replacement {
        class: "std::__cxx11::list",
        change: "Use a vector, or a deque, unless iterators must stay valid",
        instead: "std::vector<{element}> items;\nitems.reserve(n);",
        links: 16,
        filled: 1.0,
    },
    Replacement { class: "std::map", change: MAP, instead: FLAT_MAP, links: 32, filled: 1.0 },
    Replacement { class: "std::multimap", change: MAP, instead: FLAT_MAP, links: 32, filled: 1.0 },
    Replacement { class: "std::set", change: MAP, instead: FLAT_SET, links: 32, filled: 1.0 },
    Replacement { class: "std::multiset", change: MAP, instead: FLAT_SET, links: 32, filled: 1.0 },
    Replacement { class: "std::unordered_map", change: HASH, instead: FLAT_HASH_MAP, links: 8, filled: 0.7 },
    Replacement { class: "std::unordered_multimap", change: HASH, instead: POOLED, links: 8, filled: 0.7 },
    Replacement { class: "std::unordered_set", change: HASH, instead: FLAT_HASH_SET, links: 8, filled: 0.7 },
    Replacement { class: "std::unordered_multiset", change: HASH, instead: POOLED, links: 8, filled: 0.7 },
    Replacement {
        class: "LinkedList",
        change: "Use VecDeque, or Vec",
        instead: "let mut items: std::collections::VecDeque<{element}> = \
            std::collections::VecDeque::with_capacity(n);",
        links: 16,
        filled: 1.0,
    },
    Replacement {
        class: "BTreeMap",
        change: "Fill a Vec, sort it once and search it, if lookups come after all insertions",
        instead: "let mut items: Vec<_> = Vec::with_capacity(n);\n// fill it, then:\n\
            items.sort_unstable_by(|a, b| a.0.cmp(&b.0));\nitems.binary_search_by(|item| item.0.cmp(&key));",
        links: 12,
        filled: 1.4,
    },
];

const MAP: &str = "Use a hash table if the order is not needed; keep the elements in one block, sorted, if lookups come after \
    most insertions; else give the nodes a pool";
const FLAT_MAP: &str = "std::unordered_map<{arguments}> map; // no order; or boost::unordered_flat_map\n\
    #include <boost/container/flat_map.hpp> // sorted\nboost::container::flat_map<{arguments}> map;\nmap.reserve(n);";
const FLAT_SET: &str = "std::unordered_set<{arguments}> set; // no order; or boost::unordered_flat_set\n\
    #include <boost/container/flat_set.hpp> // sorted\nboost::container::flat_set<{arguments}> set;\nset.reserve(n);";
const HASH: &str = "Keep the elements in one table, or give the nodes a pool";
const FLAT_HASH_MAP: &str = "#include <boost/unordered/unordered_flat_map.hpp> // Boost 1.81\n\
    boost::unordered_flat_map<{arguments}> map;\nmap.reserve(n);";
const FLAT_HASH_SET: &str = "#include <boost/unordered/unordered_flat_set.hpp> // Boost 1.81\n\
    boost::unordered_flat_set<{arguments}> set;\nset.reserve(n);";
const POOLED: &str = "std::pmr::unsynchronized_pool_resource pool;\nstd::pmr::{name}<{arguments}> map(&pool);";

/// How a family of containers keeps its nodes in order.
struct Order {
    /// Beginnings of the names of its functions.
    functions: &'static [&'static str],
    /// Of those, what only looks something up: it stays.
    lookups: &'static [&'static str],
    /// The share of the others that goes: what takes the place has to be filled, too.
    goes: [f64; 3],
    /// What that takes for each node where plain runs do not tell, ns.
    each: [f64; 3],
}

const TREE: Order = Order {
    functions: &["std::_Rb_tree", "alloc::collections::btree", "<alloc::collections::btree"],
    lookups: &["_M_lower_bound", "_M_upper_bound", "::find", "increment", "decrement", "::search", "::next"],
    goes: [0.6, 0.9, 1.0],
    each: [0.0, 15.0, 60.0],
};
const TABLE: Order = Order {
    functions: &["std::_Hashtable", "std::__detail::_Hash", "std::__detail::_Map_base"],
    lookups: &["_M_find", "::find", "::count"],
    goes: [0.0, 0.4, 0.8],
    each: [0.0, 5.0, 40.0],
};
const CHAIN: Order = Order {
    functions: &[
        "std::deque", "std::_Deque", "std::__cxx11::list", "std::__cxx11::_List", "std::__detail::_List",
        "boost::container::deque", "alloc::collections::linked_list",
    ],
    lookups: &["operator", "::begin", "::end", "::size"],
    goes: [0.0, 0.4, 0.8],
    each: [0.0, 1.0, 8.0],
};

fn order(class: &str) -> &'static Order {
    match class {
        "std::map" | "std::multimap" | "std::set" | "std::multiset" | "BTreeMap" => &TREE,
        _ if class.starts_with("std::unordered") => &TABLE,
        _ => &CHAIN,
    }
}

/// What a container does for its nodes beside allocating them, as far as it goes: keeping a tree in balance, linking, hashing.
fn own_work(facts: &Facts, site: &Site) -> Range {
    let order = order(site.class());
    let is_it = |function: &str| {
        let name = qualified_name(function);
        order.functions.iter().any(|start| name.starts_with(start))
            && !order.lookups.iter().any(|lookup| name.contains(lookup))
    };
    let blocks = site.pattern.blocks as f64;
    let range = |[low, likely, high]: [f64; 3]| Range::new(low, likely, high);
    let Some(all) = facts.own.inside(is_it) else { return range(order.each).scaled(blocks) };
    let alike = facts.sites.iter().filter(|other| std::ptr::eq(self::order(other.class()), order));
    let alike = alike.filter(|other| REPLACEMENTS.iter().any(|replacement| replacement.class == other.class()));
    let nodes: u64 = alike.map(|other| other.pattern.blocks).sum();
    all.scaled(blocks / nodes.max(1) as f64).times(range(order.goes))
}

/// What looking elements up takes, as far as it goes. A table needs a part of it, too.
fn lookups(facts: &Facts, site: &Site) -> Range {
    const GOES: Range = Range { low: 0.0, likely: 0.4, high: 0.8 };
    let order = order(site.class());
    let is_it = |function: &str| {
        let name = qualified_name(function);
        order.functions.iter().any(|start| name.starts_with(start))
            && order.lookups.iter().any(|lookup| name.contains(lookup))
    };
    facts.own.inside(is_it).map_or(Range::default(), |all| all.times(GOES))
}

pub fn find(facts: &Facts) -> Vec<Draft> {
    facts.changeable().filter_map(|(index, site)| draft(facts, index, site)).collect()
}

fn draft(facts: &Facts, index: usize, site: &Site) -> Option<Draft> {
    let replacement = REPLACEMENTS.iter().find(|replacement| replacement.class == site.class())?;
    let pattern = &site.pattern;
    if pattern.blocks < FEWEST || !site.dies_together() {
        return None;
    }
    let count = pattern.most_live;
    let elements = pattern.bytes.saturating_sub(replacement.links * pattern.blocks) as f64 / replacement.filled;
    let kept = (elements / pattern.heap_bytes.max(1) as f64).min(1.0);
    let gone = pages(facts, site, kept);
    // One block of all elements is touched page by page, too: that is in what is kept. Growing it is avoided by reserve.
    let block = Work::of(&facts.tariff).copy_byte.scaled(pattern.most_live_bytes as f64 * 0.1);
    let cpu = calls(facts, site, 1.0).widened(0.7, 1.0).plus(gone.ns).minus(block);
    // Lookups are faster where elements lie side by side, or in a table: plain runs show what there is to gain, and without
    // them it is unknown.
    let own_work = own_work(facts, site).plus(lookups(facts, site));
    let cpu = cpu.plus(own_work);
    let cpu = if facts.own.is_known() { cpu } else { cpu.or_more() };
    let mut draft = Draft::of(index);
    let type_name = site.row.type_name.clone().unwrap_or_default();
    let evidence = &mut draft.evidence;
    evidence.say(format!(
        "{} of {} for {type_name}, at most {} live at once",
        format::counted(pattern.blocks, "block"),
        format::bytes(site.mean_size()),
        format::count(count)
    ));
    evidence.say(format!(
        "{} of them {} released one after the other with no allocation in between, {} {} never released",
        format::count(pattern.in_bulk),
        format::are(pattern.in_bulk),
        format::count(pattern.kept),
        format::are(pattern.kept)
    ));
    evidence.number("blocks", pattern.blocks as f64);
    evidence.number("most_live", count as f64);
    evidence.number("released_in_bulk", pattern.in_bulk as f64);
    draft.change = replacement.change.to_owned();
    draft.snippet = replacement
        .instead
        .replace("{element}", site.element().unwrap_or("T"))
        .replace("{arguments}", arguments(&type_name))
        .replace("{name}", site.class().rsplit("::").next().unwrap_or_default());
    draft.saves = saves(facts, site, cpu, gone.faults, 1.0);
    draft.own_work = own_work;
    draft.saves.bytes = Range::new(0.0, pattern.bytes as f64 * (1.0 - kept), pattern.bytes as f64);
    // What holds them instead takes blocks of its own: it doubles, or is made of pieces as a deque is.
    let blocks = pattern.blocks as f64;
    let pieces =
        (blocks / count.max(1) as f64).ceil() * (count.max(2) as f64).log2().ceil() + pattern.bytes as f64 / PIECE;
    draft.saves.allocations = Range::new((blocks - pieces).max(0.0), blocks, blocks);
    let live = site.metrics().peak_bytes.0 as f64;
    draft.saves.peak_bytes = Range::new(0.0, live * (1.0 - kept), live * 0.7);
    draft.saves.resident_peak_bytes = gone.faults.scaled(facts.page());
    draft.assumptions = vec![
        "nothing keeps the address of an element, or an iterator, while others are added".to_owned(),
        "elements that lie side by side are found and walked faster: without --calibrate that is not counted, and comes on top"
            .to_owned(),
    ];
    draft.at_most = Confidence::Medium;
    Some(draft)
}

/// What stands between the outer brackets.
fn arguments(type_name: &str) -> &str {
    type_name.split_once('<').and_then(|(_, rest)| rest.strip_suffix('>')).unwrap_or("T")
}

#[cfg(test)]
mod tests {
    use crate::pattern::Pattern;
    use crate::rules::RuleId;
    use crate::testing::{Made, blocks, drafts};

    fn nodes(type_name: &'static str, in_bulk: u64) -> Made {
        let (counts, pattern) = blocks(5000, 48);
        Made {
            type_name,
            counts,
            pattern: Pattern { in_bulk, ..pattern },
            allocator: 1e6,
            faults: 3e5,
            ..Made::default()
        }
    }

    #[test]
    fn containers_that_are_dropped_as_a_whole_are_named() {
        let found = drafts(RuleId::NodeContainer, nodes("std::map<int, std::string>", 5000));
        assert!(found[0].snippet.contains("flat_map<int, std::string>"), "{}", found[0].snippet);
        // How many of the 5,000 are in one map is unknown.
        assert!(found[0].snippet.contains("reserve(n)"), "{}", found[0].snippet);
        assert!(found[0].saves.cpu_ns.low > 0.0 && found[0].saves.cpu_ns.is_open(), "{:?}", found[0].saves.cpu_ns);
    }

    #[test]
    fn queues_and_others_are_left_alone() {
        assert!(drafts(RuleId::NodeContainer, nodes("std::deque<int>", 100)).is_empty(), "its blocks come and go");
        assert!(drafts(RuleId::NodeContainer, nodes("std::vector<int>", 5000)).is_empty(), "no nodes");
    }
}
