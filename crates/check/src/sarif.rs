//! Verdicts as SARIF 2.1.0, as code scanning accepts it: a rule for each metric, one location a result, paths as seen from
//! the repository, fingerprints that survive edits elsewhere in the file.

use crate::annotations::place;
use crate::budget::What;
use crate::metric::Metric;
use crate::text::{line, sentence, unit_of_lines};
use crate::verdict::{Judged, Verdict};
use serde_json::{Value, json};
use std::path::Path;

const FINDINGS: &str = "budget/findings";

fn rule_id(judged: &Judged) -> String {
    match judged.entry.what {
        What::Metric(metric) => format!("budget/{}", metric.key()),
        What::Findings => FINDINGS.to_owned(),
    }
}

/// A run with all broken limits as errors, and those that are not known as warnings.
pub fn render(all: &[Judged], budget: &str, root: &Path) -> Result<String, serde_json::Error> {
    let rule = |id: String, name: &str| {
        json!({
            "id": id,
            "shortDescription": { "text": format!("Memory budget: {name}") },
            "fullDescription": { "text": format!("A recording has more than the budget allows: {name}.") },
            "help": { "text": "Run memtoll report on the recording to see where it comes from. If the growth is meant, raise the limit in the budget." },
            "defaultConfiguration": { "level": "error" }
        })
    };
    let mut rules: Vec<Value> =
        Metric::all().map(|metric| rule(format!("budget/{}", metric.key()), metric.name())).collect();
    rules.push(rule(FINDINGS.to_owned(), "findings"));
    let results: Vec<Value> = all
        .iter()
        .filter(|judged| matches!(judged.verdict, Verdict::Broken | Verdict::Unknown))
        .map(|judged| result(judged, budget, root))
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "memtoll",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules
            } },
            "results": results
        }]
    });
    Ok(serde_json::to_string_pretty(&log)? + "\n")
}

fn result(judged: &Judged, budget: &str, root: &Path) -> Value {
    let (file, at) = place(judged, budget, root);
    let mut text = format!("{}: {}", judged.entry.scope.shown(), sentence(judged));
    for one in &judged.lines {
        text += &format!("\n{}", line(unit_of_lines(judged), one));
    }
    let function = judged.lines.first().map_or("", |line| line.function.as_str());
    json!({
        "ruleId": rule_id(judged),
        "level": if judged.verdict == Verdict::Broken { "error" } else { "warning" },
        "message": { "text": text },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(&file) },
            "region": { "startLine": at.max(1), "startColumn": 1 }
        } }],
        "partialFingerprints": { "primaryLocationLineHash": format!("{}:{function}", judged.entry.key()) }
    })
}

/// A path as a relative URI.
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    path.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("src/a b/ü.cpp"), "src/a%20b/%C3%BC.cpp");
    }
}
