//! The keyspace against the reference, by random steps, fuzz corpora and golden scripts.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod corpus;
mod fuzz;
mod pair;
mod property;
mod scripts;

mod steps;
