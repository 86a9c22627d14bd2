//! Processes to which the system gave the same id, one after the other, are processes of their own.

use flate2::read::GzDecoder;
use memtoll_analysis::sums::sums;
use memtoll_export::perfetto::messages::Trace;
use memtoll_export::{named, otlp};
use memtoll_model::Recording;
use memtoll_query::ask;
use memtoll_query::query::Query;
use memtoll_tally::Selection;
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Forked processes, which get the same id.
fn recording() -> Recording {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../format/golden/forks.memtoll");
    let mut recording = Recording::open(&golden).unwrap();
    let processes: BTreeSet<usize> = recording.images.iter().map(|image| image.process).collect();
    assert!(processes.len() > 1);
    recording.images.iter_mut().for_each(|image| (image.about.pid, image.shares_id) = (7, true));
    recording
}

fn written(recording: &Recording, format: &str) -> Vec<u8> {
    let format = named(format).unwrap();
    let view = format.view(memtoll_query::View::Totals).unwrap();
    let answer = ask(recording, &Query { view, ..Query::default() }).unwrap();
    let mut bytes = Vec::new();
    format.write(&answer, &mut bytes).unwrap();
    bytes
}

/// Allocations of each process.
fn expected(recording: &Recording) -> Vec<i64> {
    let mut all: BTreeMap<usize, i64> = BTreeMap::new();
    for (index, image) in sums(recording, Selection::default()).counted() {
        *all.entry(recording.images[index].process).or_default() += image.total.allocations() as i64;
    }
    let mut all: Vec<i64> = all.into_values().collect();
    all.sort_unstable();
    all
}

#[test]
fn have_tracks_of_their_own_in_perfetto() {
    let recording = recording();
    let trace = Trace::decode(&*written(&recording, "perfetto")).unwrap();
    let tracks = || trace.packet.iter().filter_map(|packet| packet.track_descriptor.as_ref());
    let processes: Vec<_> = tracks().filter(|track| track.process.is_some()).collect();
    assert_eq!(processes.len(), expected(&recording).len());
    let names: BTreeSet<_> = processes.iter().map(|track| track.process.as_ref().unwrap().process_name()).collect();
    assert_eq!(names.len(), processes.len(), "{names:?}");
    let counters: BTreeSet<u64> =
        tracks().filter(|track| track.name() == "allocations").map(|track| track.uuid()).collect();
    let mut last: BTreeMap<u64, i64> = BTreeMap::new();
    for event in trace.packet.iter().filter_map(|packet| packet.track_event.as_ref()) {
        if counters.contains(&event.track_uuid()) {
            last.insert(event.track_uuid(), event.counter_value());
        }
    }
    let mut last: Vec<i64> = last.into_values().collect();
    last.sort_unstable();
    assert_eq!(last, expected(&recording));
    // Readers find the process of a heap by its id: what all of them did is in one.
    let heaps = trace.packet.iter().filter_map(|packet| packet.profile_packet.as_ref());
    let samples = heaps.flat_map(|profile| &profile.process_dumps).flat_map(|dump| &dump.samples);
    assert_eq!(
        samples.map(|sample| sample.alloc_count() as i64).sum::<i64>(),
        expected(&recording).iter().sum::<i64>()
    );
}

#[test]
fn are_told_apart_by_when_they_began_in_profiles() {
    let recording = recording();
    let data = otlp::messages::ProfilesData::decode(&*written(&recording, "otlp")).unwrap();
    let dictionary = data.dictionary.unwrap();
    let profiles = &data.resource_profiles[0].scope_profiles[0].profiles;
    let text = |index: i32| dictionary.string_table[index as usize].as_str();
    let kind = |profile: &&otlp::messages::Profile| {
        text(profile.sample_type.as_ref().unwrap().type_strindex) == "alloc_objects"
    };
    let mut found: BTreeMap<String, i64> = BTreeMap::new();
    for sample in &profiles.iter().find(kind).unwrap().samples {
        let attributes = sample.attribute_indices.iter().map(|index| &dictionary.attribute_table[*index as usize]);
        let began =
            attributes.clone().find(|attribute| text(attribute.key_strindex) == "memtoll.process.start_ns").unwrap();
        *found.entry(format!("{:?}", began.value)).or_default() += sample.values[0];
    }
    let mut found: Vec<i64> = found.into_values().collect();
    found.sort_unstable();
    assert_eq!(found, expected(&recording));
    let firefox: serde_json::Value = serde_json::from_reader(GzDecoder::new(&*written(&recording, "firefox"))).unwrap();
    let ids = firefox["threads"].as_array().unwrap().iter().map(|thread| thread["pid"].as_str().unwrap());
    assert_eq!(ids.collect::<BTreeSet<_>>().len(), expected(&recording).len());
}
