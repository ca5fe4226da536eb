//! The command-line client.

use super::place::Place;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;

/// Names of fields that are there twice, in the parts between empty lines.
fn repeated(text: &str) -> Vec<String> {
    let mut repeated = Vec::new();
    for part in text.split("\n\n") {
        let mut names = BTreeSet::new();
        for line in part.lines() {
            let name = line.split(" : ").next().unwrap_or(line).trim();
            if !name.is_empty() && !names.insert(name) {
                repeated.push(name.to_string());
            }
        }
    }
    repeated
}

/// Each command in each output: it is good, fields are there once, JSON parses.
pub(crate) async fn uc_144_fields_are_printed_once(place: &Place) -> Result<()> {
    let (server, _client) = place.serve(&[]).await?;
    for words in [
        &["put", "k", "v"][..],
        &["get", "k"],
        &["endpoint", "status"],
        &["member", "list"],
        &["del", "k"],
    ] {
        for output in ["simple", "json", "fields", "table"] {
            let has_table = matches!(words[0], "endpoint" | "member");
            if output == "table" && !has_table {
                continue;
            }
            let mut all = vec!["-w", output];
            all.extend(words);
            let ended = place.ctl(&server, &all)?;
            ensure!(ended.code == Some(0), "{all:?}: {ended:?}");
            if output == "json" {
                let value: serde_json::Value = serde_json::from_str(ended.text.trim())
                    .with_context(|| format!("{all:?}: {}", ended.text))?;
                ids_are_numbers(&value).with_context(|| format!("{all:?}: {}", ended.text))?;
            }
            if output == "fields" {
                let twice = repeated(&ended.text);
                ensure!(twice.is_empty(), "{all:?} prints {twice:?} twice:\n{}", ended.text);
            }
        }
    }
    Ok(())
}

fn ids_are_numbers(value: &serde_json::Value) -> Result<()> {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, field) in fields {
                let is_id = matches!(name.as_str(), "member_id" | "cluster_id" | "ID");
                ensure!(!is_id || field.is_u64(), "{name} is {field}");
                ids_are_numbers(field)?;
            }
        }
        serde_json::Value::Array(items) => {
            for item in items {
                ids_are_numbers(item)?;
            }
        }
        _ => {}
    }
    Ok(())
}
