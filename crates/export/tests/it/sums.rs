//! The sums of each format, read back, are the report's for the same selection.

use flate2::read::GzDecoder;
use memtoll_analysis::metric::{About, Metric, Seen, TABLE, Together};
use memtoll_analysis::sites::GroupBy;
use memtoll_export::perfetto::messages::{HeapSample, Trace, TrackDescriptor};
use memtoll_export::{ALL, Format, callgrind, firefox, otlp, pprof};
use memtoll_model::Recording;
use memtoll_query::query::{Query, When};
use memtoll_query::{Answer, Shown, View, ask};
use memtoll_trace::ids::Units;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use proptest::prelude::*;
use prost::Message;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const FILES: [&str; 4] = ["tiny.memtoll", "forks.memtoll", "costs.memtoll", "killed.memtoll"];

/// By the names that the table of metrics gives.
type Sums = BTreeMap<&'static str, u64>;

fn golden(name: &str) -> Recording {
    Recording::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../format/golden").join(name)).unwrap()
}

fn written(format: &dyn Format, answer: &Answer) -> Vec<u8> {
    let mut bytes = Vec::new();
    if format.is_folder() {
        // Its name stands for it.
        let folder = tempfile::tempdir().unwrap().keep();
        format.write_to(answer, &folder).unwrap();
        return folder.into_os_string().into_encoded_bytes();
    }
    format.write(answer, &mut bytes).unwrap();
    bytes
}

/// How the sums of a format are read back.
fn read(format: &str) -> fn(&[u8], &Answer) -> Sums {
    match format {
        "collapsed" => collapsed,
        "pprof" => pprof,
        "callgrind" => callgrind,
        "dhat" => dhat,
        "firefox" => firefox,
        "heaptrack" => heaptrack,
        "otlp" => otlp,
        "parquet" => parquet,
        "perfetto" => perfetto,
        "speedscope" => speedscope,
        other => panic!("{other} has no reader here: write one"),
    }
}

fn collapsed(file: &[u8], answer: &Answer) -> Sums {
    let text = std::str::from_utf8(file).unwrap();
    let sum = text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    Sums::from([(answer.metric.unwrap().about().name, sum)])
}

fn pprof(file: &[u8], _answer: &Answer) -> Sums {
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    let profile = pprof::messages::Profile::decode(&bytes[..]).unwrap();
    let text = |index: i64| profile.string_table[index as usize].as_str();
    assert_eq!(text(0), "");
    assert!(profile.sample_type.iter().any(|of| of.r#type == profile.default_sample_type));
    let locations = profile.location.len() as u64;
    let is_one_of = |id: u64, number: usize| (1..=number as u64).contains(&id);
    for location in &profile.location {
        assert!(location.mapping_id as usize <= profile.mapping.len() && !location.line.is_empty());
        assert!(location.line.iter().all(|line| is_one_of(line.function_id, profile.function.len())));
    }
    let mut sums = vec![0i64; profile.sample_type.len()];
    for sample in &profile.sample {
        assert!(!sample.location_id.is_empty() && sample.location_id.iter().all(|id| (1..=locations).contains(id)));
        assert_eq!(sample.value.len(), sums.len());
        sums.iter_mut().zip(&sample.value).for_each(|(sum, value)| *sum += value);
    }
    let name = |name: &str| TABLE.iter().find(|about| pprof::name(about) == name).unwrap().name;
    profile.sample_type.iter().zip(sums).map(|(of, sum)| (name(text(of.r#type)), sum as u64)).collect()
}

/// The costs of functions' own lines; those of calls stand behind "calls=".
fn callgrind(file: &[u8], _answer: &Answer) -> Sums {
    let text = std::str::from_utf8(file).unwrap();
    let after = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).unwrap().split_whitespace();
    let events: Vec<&str> = after("events:").collect();
    let mut sums = vec![0u64; events.len()];
    let mut is_call = false;
    for line in text.lines() {
        if line.starts_with(|first: char| first.is_ascii_digit()) && !is_call {
            let values: Vec<u64> = line.split(' ').skip(1).map(|value| value.parse().unwrap()).collect();
            assert_eq!(values.len(), sums.len(), "{line}");
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        is_call = line.starts_with("calls=");
    }
    let totals: Vec<u64> = after("totals:").map(|value| value.parse().unwrap()).collect();
    assert_eq!(totals, sums);
    let name = |event: &str| TABLE.iter().find(|about| callgrind::event(about) == event).unwrap().name;
    events.into_iter().map(name).zip(sums).collect()
}

fn dhat(file: &[u8], _answer: &Answer) -> Sums {
    let file: Value = serde_json::from_slice(file).unwrap();
    let frames = file["ftbl"].as_array().unwrap().len() as u64;
    let points = file["pps"].as_array().unwrap();
    assert!(points.iter().flat_map(|of| of["fs"].as_array().unwrap()).all(|frame| frame.as_u64().unwrap() < frames));
    let sum = |field: &str| points.iter().map(|point| point[field].as_u64().unwrap()).sum();
    let fields = [("tb", "bytes"), ("tbk", "allocations"), ("gb", "peak"), ("eb", "live"), ("ebk", "live-blocks")];
    fields.into_iter().map(|(field, name)| (name, sum(field))).collect()
}

fn firefox(file: &[u8], answer: &Answer) -> Sums {
    let file: Value = serde_json::from_reader(GzDecoder::new(file)).unwrap();
    let shared = &file["shared"];
    for (table, columns) in [
        ("stackTable", &["frame", "prefixOffset"][..]),
        ("frameTable", &["address", "inlineDepth", "category", "func", "lib", "line"]),
        ("funcTable", &["name", "resource", "source", "isJS"]),
        ("resourceTable", &["name", "type"]),
        ("sources", &["filename", "id"]),
    ] {
        let length = shared[table]["length"].as_u64().unwrap() as usize;
        columns
            .iter()
            .for_each(|column| assert_eq!(shared[table][column].as_array().unwrap().len(), length, "{table} {column}"));
    }
    let stacks = shared["stackTable"]["length"].as_u64().unwrap();
    let (mut cost, mut bytes) = (0, 0);
    for thread in file["threads"].as_array().unwrap() {
        for (table, sum) in [("samples", &mut cost), ("nativeAllocations", &mut bytes)] {
            let column = |name: &str| thread[table][name].as_array().unwrap();
            assert!(column("stack").iter().all(|stack| stack.as_u64().unwrap() < stacks));
            assert!(column("time").is_sorted_by(|a, b| a.as_f64() <= b.as_f64()));
            let weights = column("weight").iter().map(|weight| weight.as_f64().unwrap()).filter(|weight| *weight > 0.0);
            let unit = if table == "samples" { 1e6 } else { 1.0 };
            *sum += weights.map(|weight| (weight * unit).round() as u64).sum::<u64>();
        }
    }
    Sums::from([(firefox::weight(answer).about().name, cost), ("bytes", bytes)])
}

fn otlp(file: &[u8], _answer: &Answer) -> Sums {
    let data = otlp::messages::ProfilesData::decode(file).unwrap();
    let dictionary = data.dictionary.unwrap();
    let text = |index: i32| dictionary.string_table[index as usize].as_str();
    assert_eq!(text(0), "");
    let is_one_of = |index: i32, length: usize| (1..length as i32).contains(&index);
    let locations = dictionary.stack_table.iter().flat_map(|stack| &stack.location_indices);
    assert!(locations.into_iter().all(|index| is_one_of(*index, dictionary.location_table.len())));
    let lines = dictionary.location_table.iter().flat_map(|location| &location.lines);
    assert!(lines.into_iter().all(|line| is_one_of(line.function_index, dictionary.function_table.len())));
    let mut sums = Sums::new();
    for profile in &data.resource_profiles[0].scope_profiles[0].profiles {
        let name = text(profile.sample_type.as_ref().unwrap().type_strindex);
        let sum: i64 = profile.samples.iter().flat_map(|sample| &sample.values).sum();
        assert!(profile.samples.iter().all(|sample| is_one_of(sample.stack_index, dictionary.stack_table.len())));
        let attributes = profile.samples.iter().flat_map(|sample| &sample.attribute_indices);
        assert!(attributes.into_iter().all(|index| is_one_of(*index, dictionary.attribute_table.len())));
        sums.insert(TABLE.iter().find(|about| pprof::name(about) == name).unwrap().name, sum as u64);
    }
    sums
}

fn speedscope(file: &[u8], answer: &Answer) -> Sums {
    let file: Value = serde_json::from_slice(file).unwrap();
    let frames = file["shared"]["frames"].as_array().unwrap().len() as u64;
    let profiles = file["profiles"].as_array().unwrap();
    let shown = &profiles[file["activeProfileIndex"].as_u64().unwrap() as usize]["name"];
    if profiles.iter().any(|profile| profile["name"] == answer.metric.unwrap().about().name) {
        assert_eq!(shown, answer.metric.unwrap().about().name);
    }
    let mut sums = Sums::new();
    for profile in profiles {
        let (samples, weights) = (profile["samples"].as_array().unwrap(), profile["weights"].as_array().unwrap());
        assert_eq!(samples.len(), weights.len());
        assert!(
            samples.iter().flat_map(|stack| stack.as_array().unwrap()).all(|frame| frame.as_u64().unwrap() < frames)
        );
        let sum = weights.iter().map(|weight| weight.as_u64().unwrap()).sum();
        assert_eq!(profile["endValue"].as_u64(), Some(sum));
        sums.insert(Metric::named(profile["name"].as_str().unwrap()).unwrap().about().name, sum);
    }
    sums
}

/// Blocks added up in the order of the file, as heaptrack does.
fn heaptrack(file: &[u8], answer: &Answer) -> Sums {
    let bytes = zstd::stream::decode_all(file).unwrap();
    let text = std::str::from_utf8(&bytes).unwrap();
    let [mut texts, mut places, mut traces] = [0u64; 3];
    let mut sizes: Vec<u64> = Vec::new();
    let [mut blocks, mut bytes, mut live_blocks, mut live, mut peak] = [0u64; 5];
    let mut now = 0;
    for line in text.lines() {
        let (kind, rest) = line.split_once(' ').unwrap();
        let numbers = || -> Vec<u64> { rest.split(' ').map(|of| u64::from_str_radix(of, 16).unwrap()).collect() };
        match kind {
            "s" => texts += 1,
            "i" => {
                let numbers = numbers();
                assert!(numbers.len() >= 5 && numbers[2..].len() % 3 == 0, "{line}");
                assert!(
                    numbers[1] <= texts && numbers[2..].chunks(3).all(|of| of[0] <= texts && of[1] <= texts),
                    "{line}"
                );
                places += 1;
            }
            "t" => {
                let [place, caller] = numbers()[..] else { panic!("{line}") };
                assert!((1..=places).contains(&place) && caller <= traces, "{line}");
                traces += 1;
            }
            "a" => {
                let [size, trace] = numbers()[..] else { panic!("{line}") };
                assert!((1..=traces).contains(&trace), "{line}");
                sizes.push(size);
            }
            "+" | "-" => {
                let size = sizes[numbers()[0] as usize];
                if kind == "+" {
                    (blocks, bytes, live_blocks, live) = (blocks + 1, bytes + size, live_blocks + 1, live + size);
                    peak = peak.max(live);
                } else {
                    (live_blocks, live) = (live_blocks - 1, live - size);
                }
            }
            "c" => {
                assert!(numbers()[0] > now, "{line}");
                now = numbers()[0];
            }
            "v" => assert_eq!(rest, "10000 1"),
            "X" | "I" | "R" => {}
            _ => panic!("{line}"),
        }
    }
    let mut sums = Sums::from([("allocations", blocks), ("bytes", bytes)]);
    let of_report = answer.basis.sums.as_ref().unwrap();
    let selection = of_report.selection;
    if selection.from == Units::ZERO || selection.instant {
        sums.extend([("live", live), ("live-blocks", live_blocks)]);
        // The report's peak of some threads, sizes or stacks is their share of the process's peak.
        if answer.basis.view.filter.is_none() && !of_report.are_parts() {
            sums.insert("peak", peak);
        }
    }
    sums
}

/// Of the tables that have a row for each stack or line; both must agree.
fn parquet(folder: &[u8], answer: &Answer) -> Sums {
    let folder = Path::new(OsStr::from_bytes(folder));
    let [stacks, sites] = ["stacks", "sites"].map(|table| columns(&folder.join(table).with_extension("parquet")));
    std::fs::remove_dir_all(folder).unwrap();
    let several = answer.basis.sums.as_ref().unwrap().are_of_several();
    let adds_up = |together: Together| together == Together::Sum || together == Together::Peak && !several;
    // Nobody looked at these programs' memory when they ended: of stacks without live blocks it is known that none are lost.
    let known = |about: &&About| {
        about.metric.is_known(answer.basis.tariff.sees()) && about.seen != Seen::Search && adds_up(about.together)
    };
    let sum = |about: &About| {
        assert_eq!(stacks.get(about.key), sites.get(about.key), "{}", about.key);
        (about.name, stacks.get(about.key).map_or(0, |sum| u64::try_from(*sum).unwrap()))
    };
    TABLE.iter().filter(known).map(sum).collect()
}

/// Of heap profiles and, where no filter leaves out stacks, of counters.
fn perfetto(file: &[u8], answer: &Answer) -> Sums {
    let trace = Trace::decode(file).unwrap();
    let packets = || trace.packet.iter();
    // The last profile of a call stack of a process says what it did so far.
    let [mut last, mut first] = [BTreeMap::new(), BTreeMap::new()];
    let ids: BTreeSet<u64> = packets()
        .flat_map(|packet| &packet.interned_data)
        .flat_map(|data| &data.callstacks)
        .map(|stack| stack.iid.unwrap())
        .collect();
    let dumps: Vec<_> = packets().flat_map(|packet| &packet.profile_packet).flat_map(|of| &of.process_dumps).collect();
    let begins = dumps.iter().map(|dump| dump.timestamp).min().unwrap_or_default();
    for dump in dumps {
        for sample in &dump.samples {
            assert!(ids.contains(&sample.callstack_id.unwrap()));
            let of = (dump.pid, sample.callstack_id);
            assert!(sample.alloc_count >= sample.free_count && sample.self_allocated >= sample.self_freed);
            if let Some(before) = last.insert(of, *sample) {
                assert!(dump.timestamp > begins && before.self_allocated <= sample.self_allocated);
                first.insert(of, before);
            }
        }
    }
    let sum = |of: fn(&HeapSample) -> Option<u64>, all: &BTreeMap<_, HeapSample>| -> u64 {
        all.values().filter_map(of).sum()
    };
    let bytes: fn(&HeapSample) -> _ = |of| of.self_allocated;
    let blocks: fn(&HeapSample) -> _ = |of| of.alloc_count;
    let mut sums = Sums::from([
        ("bytes", sum(bytes, &last) - sum(bytes, &first)),
        ("allocations", sum(blocks, &last) - sum(blocks, &first)),
        ("live", sum(bytes, &last) - sum(|of| of.self_freed, &last)),
        ("live-blocks", sum(blocks, &last) - sum(|of| of.free_count, &last)),
    ]);
    let mut counters: BTreeMap<u64, i64> = BTreeMap::new();
    let events = packets().flat_map(|packet| &packet.track_event);
    counters.extend(events.filter_map(|event| Some((event.track_uuid?, event.counter_value?))));
    let counted = ["allocations", "bytes", "faults", "allocator", "fault-time", "mapping", "waiting", "reading"];
    let counted = counted.map(|name| Metric::named(name).unwrap());
    for metric in counted.into_iter().filter(|metric| metric.is_known(answer.basis.tariff.sees())) {
        if answer.basis.view.filter.is_some() {
            continue;
        }
        let tracks = packets().flat_map(|packet| &packet.track_descriptor);
        let tracks = tracks.filter(|track| track.counter.is_some() && track.name() == metric.about().title);
        let of =
            |track: &TrackDescriptor| counters.get(&track.uuid()).map_or(0, |value| u64::try_from(*value).unwrap());
        let counter = tracks.map(of).sum();
        let of_heaps = sums.insert(metric.about().name, counter);
        assert!(of_heaps.is_none_or(|sum| sum == counter), "{metric:?}: {of_heaps:?} in heaps, {counter} counted");
    }
    sums
}

/// The sums of the columns of whole numbers of a table.
fn columns(file: &Path) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    for row in SerializedFileReader::new(File::open(file).unwrap()).unwrap().get_row_iter(None).unwrap() {
        for (name, field) in row.unwrap().get_column_iter() {
            if let Field::Long(number) = field {
                *sums.entry(name.clone()).or_default() += number;
            }
        }
    }
    sums
}

fn when(kind: u8, from: u64, length: u64) -> When {
    match kind {
        0 => When::All,
        1 => When::At { ns: from },
        _ => When::Span { from_ns: Some(from), to_ns: Some(from + length) },
    }
}

/// Selects a process or a thread of a recording, by its number: `(processes, threads)`.
fn runner(recording: &Recording, chosen: Option<(bool, usize)>) -> (Vec<String>, Vec<String>) {
    let Some((is_thread, number)) = chosen else { return (Vec::new(), Vec::new()) };
    let image = &recording.images[number % recording.images.len()];
    match image.threads.get(number % image.threads.len().max(1)).filter(|_| is_thread) {
        Some(thread) => (Vec::new(), vec![thread.tid.to_string()]),
        None => (vec![image.about.pid.to_string()], Vec::new()),
    }
}

fn query(view: View, of: &Query) -> Query {
    Query { view, ..of.clone() }
}

fn query_for(format: &dyn Format, of: &Query) -> Query {
    let details = format.has_details();
    Query { findings: details, details, ..query(format.view(View::Totals).unwrap(), of) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn all_formats_tell_the_sums_of_the_report(
        file in 0..FILES.len(),
        (kind, from, length) in (0u8..3, 0u64..2_000_000, 0u64..20_000_000),
        chosen in prop_oneof![Just(None), (any::<bool>(), 0usize..4).prop_map(Some)],
        (min_size, paid, unfold) in (prop_oneof![Just(None), (1u64..512).prop_map(Some)], any::<bool>(), any::<bool>()),
        filter in prop_oneof![Just(None), Just(Some("main".to_owned())), Just(Some("buffer|work".to_owned()))],
        metric in prop_oneof![Just(None), (0..TABLE.len()).prop_map(|index| Some(TABLE[index].metric))],
    ) {
        let recording = golden(FILES[file]);
        let (processes, threads) = runner(&recording, chosen);
        let when = when(kind, from, length);
        let asked = Query { when, processes, threads, min_size, paid, unfold, filter, metric, ..Query::default() };
        let report = ask(&recording, &query(View::Table { group: GroupBy::Path, limit: None }, &asked));
        let Ok(report) = report else { return Ok(()) };
        let Shown::Table(table) = &report.shown else { unreachable!("a table was asked for") };
        for format in ALL {
            let answer = ask(&recording, &query_for(*format, &asked)).unwrap();
            let (sums, sees) = (answer.basis.sums.as_ref().unwrap(), answer.basis.tariff.sees());
            let is_known = |metric: Metric| metric.is_known_of(&sums.total, sees);
            if format.refuses(&answer).is_some() {
                // As it does here of several processes, or of the only metric that it has room for.
                let adds_up = answer.metric.is_none_or(|metric| metric.adds_up() && is_known(metric));
                prop_assert!(sums.are_of_several() || format.name() == "collapsed" && !adds_up, "{}", format.name());
                continue;
            }
            for (name, sum) in read(format.name())(&written(*format, &answer), &answer) {
                let metric = Metric::named(name).unwrap();
                prop_assert!(is_known(metric), "{} is not known, but in {}", name, format.name());
                let of_report: u64 = table.sites.iter().filter_map(|row| row.figures.of(metric)).sum();
                prop_assert_eq!(sum, of_report, "{} in {}", name, format.name());
            }
        }
    }
}
