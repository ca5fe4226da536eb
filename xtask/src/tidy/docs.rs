//! Documents that can be checked are: every crate in the map, every document in the index, every
//! limit with a reason, every flag and metric listed.

use super::Tree;
use anyhow::Result;

/// Checks documents against the tree.
pub(super) fn check(tree: &Tree) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    let map = tree.text("ARCHITECTURE.md")?;
    for (name, _) in tree.ending("Cargo.toml") {
        if let Some(krate) =
            name.strip_prefix("crates/").and_then(|n| n.strip_suffix("/Cargo.toml"))
            && !map.contains(&format!("`{krate}`"))
        {
            findings.push(format!("ARCHITECTURE.md: does not name the crate `{krate}`"));
        }
    }
    let index = tree.text("docs/README.md")?;
    for (name, _) in tree.ending(".md") {
        let Some(document) = name.strip_prefix("docs/") else { continue };
        let listed = match document.split_once('/') {
            Some((folder, _)) => index.contains(&format!("({folder}/)")),
            None => document == "README.md" || index.contains(&format!("({document})")),
        };
        if !listed {
            findings.push(format!("docs/README.md: does not list {document}"));
        }
    }
    findings.extend(limits_without_reason(&tree.text("crates/types/src/limits.rs")?));
    findings.extend(unlisted_flags(tree)?);
    Ok(findings)
}

/// Every `pub const` of `limits.rs` follows a line of documentation.
fn limits_without_reason(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let bare = lines.windows(2).enumerate().filter(|(_, pair)| {
        pair[1].starts_with("pub const") && !pair[0].trim_start().starts_with("///")
    });
    bare.map(|(at, pair)| {
        format!("crates/types/src/limits.rs:{}: {} has no reason", at + 2, pair[1])
    })
    .collect()
}

/// Every flag of the table stands in docs/configuration.md.
fn unlisted_flags(tree: &Tree) -> Result<Vec<String>> {
    let table = tree.text("crates/server/src/config/flags.rs")?;
    let document = tree.text("docs/configuration.md")?;
    let names = table.lines().filter_map(|line| {
        let rest = line.strip_prefix("    \"")?;
        let (name, _) = rest.split_once('"')?;
        name.bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            .then_some(name)
    });
    Ok(names
        .filter(|name| !document.contains(&format!("`{name}`")))
        .map(|name| format!("docs/configuration.md: does not list `{name}`"))
        .collect())
}
