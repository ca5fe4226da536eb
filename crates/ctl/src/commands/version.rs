//! `version`

use crate::say;

/// The version whose behaviour this client has.
const VERSION: &str = "3.7.3";
/// Major and minor of it.
const API_VERSION: &str = "3.7";

pub(super) fn run() {
    say(format!("etcdctl version: {VERSION}\nAPI version: {API_VERSION}\n").as_bytes());
}
