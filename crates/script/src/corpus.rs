//! Corpora of the fuzz targets, replayed by plain tests.

use std::path::Path;

/// Runs `entry` over every input that `fuzz/corpus` keeps for a target, in the order of names.
pub fn replay(target: &str, entry: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let folder = std::fs::read_dir(&corpus).expect("the corpus is checked in");
    let mut paths: Vec<_> = folder.map(|input| input.expect("a readable folder").path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "the corpus of {target} is empty");
    for path in paths {
        entry(&std::fs::read(path).expect("a readable file"));
    }
}
