//! Checks of the tree's shape. Each rule returns what breaks it, as `place: why`.

mod docs;
mod layers;
mod sources;

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// Runs every rule and fails with all findings.
pub(crate) fn run() -> Result<()> {
    let tree = Tree::read(&crate::root())?;
    let mut findings = Vec::new();
    findings.extend(layers::check(&tree)?);
    findings.extend(sources::check(&tree)?);
    findings.extend(docs::check(&tree)?);
    findings.extend(stale_code(&tree)?);
    if findings.is_empty() {
        return Ok(());
    }
    for finding in &findings {
        eprintln_line(finding);
    }
    bail!("tidy: {} findings", findings.len())
}

#[expect(clippy::print_stderr, reason = "findings are what this command is run for")]
fn eprintln_line(text: &str) {
    eprintln!("{text}");
}

/// The files of the tree, without build output.
pub(crate) struct Tree {
    root: PathBuf,
    files: Vec<PathBuf>,
}

impl Tree {
    fn read(root: &Path) -> Result<Tree> {
        let mut files = Vec::new();
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            let entries = fs::read_dir(&folder).with_context(|| format!("list {folder:?}"))?;
            for entry in entries {
                let path = entry?.path();
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                if ["target", ".git", "out", "node_modules", "corpus", "__pycache__"]
                    .contains(&name)
                {
                    continue;
                }
                if path.is_dir() { folders.push(path) } else { files.push(path) }
            }
        }
        files.sort();
        Ok(Tree { root: root.to_path_buf(), files })
    }

    /// Path of a file from the root.
    fn name(&self, file: &Path) -> String {
        file.strip_prefix(&self.root).unwrap_or(file).display().to_string()
    }

    /// Files with this ending, generated code left out.
    fn ending(&self, ending: &str) -> impl Iterator<Item = (String, &Path)> {
        let named = self.files.iter().map(|file| (self.name(file), file.as_path()));
        let ending = ending.to_string();
        named.filter(move |(name, _)| name.ends_with(&ending) && !name.contains("/generated/"))
    }

    /// Text of a file, named from the root.
    fn text(&self, name: &str) -> Result<String> {
        fs::read_to_string(self.root.join(name)).with_context(|| format!("read {name}"))
    }
}

/// Generated code must be what the `.proto` files give now.
fn stale_code(tree: &Tree) -> Result<Vec<String>> {
    let fresh = std::env::temp_dir().join(format!("mainstay-codegen-{}", std::process::id()));
    crate::codegen::generate(&tree.root.join("crates/proto/proto"), &fresh)?;
    let mut findings = Vec::new();
    for entry in fs::read_dir(&fresh)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_string();
        crate::run::command("rustfmt", &["--edition", "2024", &path.display().to_string()])?;
        let checked_in = tree.text(&format!("crates/proto/src/generated/{name}"))?;
        if fs::read_to_string(&path)? != checked_in {
            findings.push(format!("{name}: stale; run `cargo xtask codegen && cargo fmt`"));
        }
    }
    fs::remove_dir_all(&fresh)?;
    Ok(findings)
}
