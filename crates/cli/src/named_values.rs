//! Options whose values are those of an enum of another crate.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use memtoll_analysis::sites::GroupBy;
use memtoll_query::query::List;

/// Parses one of `values`, each with its name and its help; empty: none.
pub fn parser<T: Copy + Send + Sync + 'static>(
    values: Vec<(T, &'static str, &'static str)>,
) -> impl TypedValueParser<Value = T> {
    let shown = values.iter().map(|(_, name, help)| match *help {
        "" => PossibleValue::new(*name),
        help => PossibleValue::new(*name).help(help),
    });
    let find =
        |values: &[(T, &str, &str)], text: String| values.iter().find(|(_, name, _)| *name == text).map(|one| one.0);
    PossibleValuesParser::new(shown).try_map(move |text| find(&values, text).ok_or("not one of these"))
}

/// Parses a way to group rows. `help` has a line for some of them.
pub fn group_parser(
    groups: &[GroupBy],
    help: &[(GroupBy, &'static str)],
) -> impl TypedValueParser<Value = GroupBy> + use<> {
    let help_of = |group| help.iter().find(|(of, _)| *of == group).map_or("", |(_, help)| help);
    parser(groups.iter().map(|group| (*group, group.name(), help_of(*group))).collect())
}

/// Parses what is to be listed.
pub fn list_parser() -> impl TypedValueParser<Value = List> {
    parser(vec![
        (List::Marks, "marks", "Marks and regions of memtoll.h"),
        (List::Threads, "threads", ""),
        (List::Processes, "processes", ""),
        (List::Modules, "modules", "Files that were loaded, with their build ids"),
        (List::Looks, "looks", "Looks at the pages of processes, for --resident --at"),
    ])
}
