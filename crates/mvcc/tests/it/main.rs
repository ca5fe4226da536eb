//! The keyspace against the reference, by random steps, fuzz corpora and golden scripts.

mod fuzz;
mod pair;
mod property;

mod steps;
