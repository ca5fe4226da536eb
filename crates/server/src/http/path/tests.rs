//! Paths in their clean form, and where they are sent.

use super::cleaned;

#[test]
fn empty_and_dot_steps_are_taken_out() {
    for (path, clean) in [
        ("//version", "/version"),
        ("/a/../version", "/version"),
        ("/./health/", "/health/"),
        ("/../..", "/"),
    ] {
        assert_eq!(cleaned(path).as_deref(), Some(clean), "{path}");
    }
}

#[test]
fn clean_paths_stay() {
    for path in ["/", "/version", "/livez/", "/a/b", "*"] {
        assert_eq!(cleaned(path), None, "{path}");
    }
}
