//! SARIF 2.1.0, as code scanning takes it: one location for each result, relative to the repository's root, with the whole
//! region; fingerprints that stay the same from run to run; stacks as code flows.

use super::words;
use crate::finding::{Advice, Finding, Place};
use crate::rules::RULES;
use crate::source::Root;
use serde_json::{Value, json};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// What paths are relative to.
const BASE: &str = "%SRCROOT%";

/// The advice as SARIF.
pub fn sarif(advice: &Advice, root: &Root) -> serde_json::Result<String> {
    // Results must have a place in the repository.
    let shown: Vec<(&Finding, String)> = advice
        .findings
        .iter()
        .filter_map(|finding| Some((finding, uri(&root.relative(finding.file.as_deref()?)?))))
        .collect();
    let rules: Vec<Value> = RULES
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "name": rule.id,
                "shortDescription": { "text": rule.title },
                "fullDescription": { "text": rule.summary() },
                "help": { "text": rule.body(), "markdown": rule.body() },
                "defaultConfiguration": { "level": "warning" },
                "properties": { "tags": ["performance", "memory"] },
            })
        })
        .collect();
    let results: Vec<Value> = shown.iter().map(|(finding, uri)| result(advice, finding, uri, root)).collect();
    let driver = json!({
        "name": "memtoll",
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": rules,
    });
    let run = json!({
        "tool": { "driver": driver },
        "columnKind": "unicodeCodePoints",
        "results": results,
    });
    let log = json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] });
    Ok(serde_json::to_string_pretty(&log)? + "\n")
}

fn result(advice: &Advice, finding: &Finding, uri: &str, root: &Root) -> Value {
    let message = format!(
        "{}: {}. Likely saves {}.",
        finding.change,
        finding.evidence.text.join("; "),
        words::headline(finding, advice.processor_ns)
    );
    let mut result = json!({
        "ruleId": finding.rule,
        "ruleIndex": finding.rule as usize,
        "level": "warning",
        "message": { "text": message },
        "locations": [{ "physicalLocation": physical(uri, finding.line), "logicalLocations": [{ "fullyQualifiedName": finding.function, "kind": "function" }] }],
        "partialFingerprints": { "primaryLocationLineHash": finding.id },
        "properties": { "saves": finding.saves, "confidence": finding.confidence, "snippet": finding.snippet },
    });
    let steps: Vec<Value> = finding.stack.iter().rev().filter_map(|place| step(place, root)).collect();
    if !steps.is_empty() {
        result["codeFlows"] = json!([{ "threadFlows": [{ "locations": steps }] }]);
    }
    result
}

/// A line; SARIF counts from 1.
fn physical(uri: &str, line: Option<u32>) -> Value {
    let line = line.unwrap_or(1).max(1);
    json!({
        "artifactLocation": { "uri": uri, "uriBaseId": BASE },
        "region": { "startLine": line, "startColumn": 1, "endLine": line, "endColumn": 1 },
    })
}

fn step(place: &Place, root: &Root) -> Option<Value> {
    let uri = uri(&root.relative(place.file.as_deref()?)?);
    let location = json!({ "physicalLocation": physical(&uri, place.line), "message": { "text": place.function } });
    Some(json!({ "location": location }))
}

/// A path as a relative reference: what is no letter, digit or one of `-._~/` is escaped.
fn uri(path: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => (byte as char).to_string(),
        _ => format!("%{byte:02X}"),
    };
    path.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::tests::{advice, finding};

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("src/a b.cpp"), "src/a%20b.cpp");
        assert_eq!(uri("src/ä.rs"), "src/%C3%A4.rs");
    }

    /// The types are made from the schema of SARIF 2.1.0: keys that it does not know, and keys that lack, are errors.
    #[test]
    fn it_is_what_the_schema_and_code_scanning_ask_for() {
        let advice = advice(vec![finding("/home/me/app/src/a b.cpp"), finding("/usr/include/b.hpp")]);
        let text = sarif(&advice, &Root::at(std::path::Path::new("/home/me/app"))).unwrap();
        let log: serde_sarif::sarif::Sarif = serde_json::from_str(&text).unwrap();
        let run = &log.runs[0];
        let rules = run.tool.driver.rules.as_ref().unwrap();
        assert_eq!(rules.len(), RULES.len());
        for rule in rules {
            let has_text = |text: &Option<serde_sarif::sarif::MultiformatMessageString>| {
                text.as_ref().is_some_and(|of| !of.text.is_empty())
            };
            assert!(has_text(&rule.short_description) && has_text(&rule.full_description) && has_text(&rule.help));
        }
        let results = run.results.as_ref().unwrap();
        assert_eq!(results.len(), 1, "what is outside of the repository is left out");
        let result = &results[0];
        assert_eq!(result.rule_id.as_deref(), Some("growth"));
        assert_eq!(rules[result.rule_index.unwrap() as usize].id, "growth");
        let prints = result.partial_fingerprints.as_ref().unwrap();
        assert_eq!(prints["primaryLocationLineHash"], advice.findings[0].id);
        let locations = result.locations.as_ref().unwrap();
        assert_eq!(locations.len(), 1);
        let physical = locations[0].physical_location.as_ref().unwrap();
        assert_eq!(physical.artifact_location.as_ref().unwrap().uri.as_deref(), Some("src/a%20b.cpp"));
        let region = physical.region.as_ref().unwrap();
        assert_eq!((region.start_line, region.end_line), (Some(12), Some(12)));
        let flow = &result.code_flows.as_ref().unwrap()[0].thread_flows[0].locations;
        assert_eq!(flow.len(), 2, "main, then f");
    }
}
