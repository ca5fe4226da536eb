//! `docs/cases.md` and the table of tests name each other.

use super::table::CASES;
use std::collections::BTreeSet;

#[test]
fn every_test_of_a_case_is_in_the_document_and_back() {
    let text = include_str!("../../../../docs/cases.md");
    let rtest = text.lines().filter(|line| line.starts_with("| UC-"));
    let named: BTreeSet<&str> =
        rtest.flat_map(|line| line.split('`')).filter(|word| word.starts_with("uc_")).collect();
    let tests: BTreeSet<&str> = CASES.iter().map(|case| case.name).collect();
    assert_eq!(named, tests);
}
