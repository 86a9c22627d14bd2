//! Formats have no place for the error of each number: the file says how far off its sums are, of those that are estimates.

use flate2::read::GzDecoder;
use memtoll_analysis::metric::Metric;
use memtoll_export::{Format, named, otlp, perfetto, pprof};
use memtoll_model::Recording;
use memtoll_query::query::Query;
use memtoll_query::{Answer, View, ask};
use prost::Message;
use serde_json::Value;
use std::io::Read;
use std::path::Path;

/// A recording whose faults were all seen, and the same as if one of 17 had been.
fn recordings() -> [Recording; 2] {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../format/golden/costs.memtoll");
    let [counted, mut sampled] = [(); 2].map(|()| Recording::open(&path).unwrap());
    assert_eq!(counted.kernel.faults_error, 0.0);
    sampled.kernel.faults_error = (sampled.kernel.faults_seen as f64 * 16.0).sqrt();
    [counted, sampled]
}

fn unpacked(file: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}

/// All that a format says of metrics, in the file or beside it, as one text.
fn file_of(format: &dyn Format, answer: &Answer) -> String {
    let mut file = Vec::new();
    format.write(answer, &mut file).unwrap();
    match format.name() {
        "pprof" => {
            let profile = pprof::messages::Profile::decode(&unpacked(&file)[..]).unwrap();
            profile.comment.iter().map(|text| profile.string_table[*text as usize].clone() + "\n").collect()
        }
        "callgrind" => {
            let text = String::from_utf8(file).unwrap();
            text.lines()
                .filter_map(|line| line.strip_prefix("desc: Error: "))
                .map(|line| line.to_owned() + "\n")
                .collect()
        }
        "firefox" => {
            let profile: Value = serde_json::from_slice(&unpacked(&file)).unwrap();
            profile["meta"]["extra"][0]["entries"][0]["value"].as_str().unwrap().to_owned()
        }
        "perfetto" => {
            let packets = perfetto::messages::Trace::decode(&file[..]).unwrap().packet;
            let tracks = packets.into_iter().filter_map(|packet| packet.track_descriptor);
            tracks.filter_map(|track| Some(track.description? + "\n")).collect()
        }
        "collapsed" | "speedscope" => format.lacks(answer).join("\n"),
        other => panic!("{other}"),
    }
}

fn answer(recording: &Recording, metric: Metric) -> Answer<'_> {
    ask(recording, &Query { view: View::Totals, metric: Some(metric), ..Query::default() }).ok().unwrap()
}

#[test]
fn files_say_which_sums_are_estimates() {
    let recordings = recordings();
    let formats = [
        ("pprof", "faults"),
        ("callgrind", "faults"),
        ("perfetto", "page faults"),
        ("collapsed", "faults"),
        ("speedscope", "faults"),
    ];
    for (format, faults) in formats {
        let [counted, sampled] =
            recordings.each_ref().map(|of| file_of(named(format).unwrap(), &answer(of, Metric::Faults)));
        let faults = format!("{faults} is an estimate: ");
        assert!(sampled.contains(&faults) && sampled.contains(" ± "), "{format}: {sampled}");
        assert!(!counted.contains(&faults), "{format}: {counted}");
        assert!(!sampled.contains("allocations is an estimate"), "{format}: {sampled}");
        let has_times = format != "collapsed";
        assert_eq!(counted.contains("allocator is an estimate: "), has_times, "{format}: {counted}");
    }
    let [counted, sampled] =
        recordings.each_ref().map(|of| file_of(named("firefox").unwrap(), &answer(of, Metric::FaultTime)));
    assert!(counted.starts_with("fault time is an estimate: ") && counted != sampled, "{counted} {sampled}");
}

#[test]
fn otlp_has_both_ends() {
    let [_, sampled] = recordings();
    let mut file = Vec::new();
    named("otlp").unwrap().write(&answer(&sampled, Metric::Faults), &mut file).unwrap();
    let data = otlp::messages::ProfilesData::decode(&file[..]).unwrap();
    let dictionary = data.dictionary.unwrap();
    let text = |index: i32| dictionary.string_table[index as usize].as_str();
    let ends = |profile: &otlp::messages::Profile| -> Vec<i64> {
        let of = profile.attribute_indices.iter().map(|index| &dictionary.attribute_table[*index as usize]);
        let of = of.zip(["low", "high"]).map(|(attribute, end)| {
            assert_eq!(text(attribute.key_strindex), format!("memtoll.total.{end}"));
            match attribute.value.as_ref().unwrap().value {
                Some(otlp::messages::Value::Number(value)) => value,
                ref other => panic!("{other:?}"),
            }
        });
        of.collect()
    };
    let profiles = &data.resource_profiles[0].scope_profiles[0].profiles;
    for profile in profiles {
        let sum: i64 = profile.samples.iter().flat_map(|sample| &sample.values).sum();
        match text(profile.sample_type.as_ref().unwrap().type_strindex) {
            "faults" => {
                let margin = 1.96 * (sum as f64 * 16.0).sqrt();
                let [low, high] = ends(profile)[..] else { panic!("{profile:?}") };
                assert!(
                    (low as f64) < sum as f64 - 0.8 * margin && high as f64 > sum as f64 + 0.8 * margin,
                    "{low} {sum} {high}"
                );
            }
            "alloc_objects" | "alloc_space" => assert!(ends(profile).is_empty()),
            _ => {}
        }
    }
    assert!(profiles.len() > 10);
}
