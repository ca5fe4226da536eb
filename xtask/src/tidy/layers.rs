//! Dependencies only point down: a crate may use crates of lower layers, and of its own layer
//! only where this table says so.

use super::Tree;
use anyhow::Result;

/// Crates by layer, lowest first (ARCHITECTURE.md draws the same).
const LAYERS: [&[&str]; 5] = [
    &["types", "proto", "vfs", "script"],
    &["wal", "backend", "mvcc", "watch", "lease"],
    &["store", "node", "member"],
    &["server", "client", "ctl", "bench", "mainstay"],
    &["model", "sim", "rtest"],
];

/// Edges within a layer, each with the reason that ARCHITECTURE.md gives.
const WITHIN: [(&str, &str); 8] = [
    ("proto", "types"),
    ("member", "store"),
    ("member", "node"),
    ("ctl", "client"),
    ("bench", "client"),
    ("mainstay", "server"),
    ("mainstay", "ctl"),
    ("mainstay", "bench"),
];

/// Edges upwards or between layers that are wanted all the same.
const ALLOWED: [(&str, &str); 2] = [
    // The simulator checks against the model.
    ("sim", "model"),
    ("rtest", "model"),
];

fn layer(krate: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&krate))
}

/// Finds edges that point up or sideways, and crates without a layer.
pub(super) fn check(tree: &Tree) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for (name, _) in tree.ending("Cargo.toml") {
        let Some(krate) = name.strip_prefix("crates/").and_then(|n| n.strip_suffix("/Cargo.toml"))
        else {
            continue;
        };
        let Some(own) = layer(krate) else {
            findings.push(format!("{name}: {krate} has no layer in xtask/src/tidy/layers.rs"));
            continue;
        };
        for dependency in dependencies(&tree.text(&name)?) {
            let Some(other) = layer(&dependency) else { continue };
            let edge = (krate, dependency.as_str());
            if other < own || WITHIN.contains(&edge) || ALLOWED.contains(&edge) {
                continue;
            }
            findings.push(format!(
                "{name}: {krate} (layer {own}) must not depend on {dependency} (layer {other})"
            ));
        }
    }
    Ok(findings)
}

/// Names in `[dependencies]`; those of tests may point anywhere.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.trim() == "[dependencies]";
        } else if inside && let Some((name, _)) = line.split_once(['.', '=', ' ']) {
            names.push(name.trim().to_string());
        }
    }
    names
}
