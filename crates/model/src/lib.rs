//! The obvious reference: etcd's key-value semantics on ordered maps, slow and plain.
//!
//! It keeps the whole state at every revision, and answers everything by looking through it. It
//! shares no code with the product, so that the two are wrong in different places. What the edge
//! checks (shapes, interval conflicts, limits) is not checked here.

mod kv;
pub mod lease;
mod range;
mod txn;
pub mod watch;

pub use kv::{Change, Kv, Model};
pub use range::RangeAnswer;
pub use txn::{Answer, DeleteAnswer, PutAnswer, TxnAnswer};

#[cfg(test)]
mod tests;
