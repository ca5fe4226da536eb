//! Words that every layer shares: ids, revisions, ranges, operations, outcomes, limits.
//!
//! Nothing here does I/O, reads a clock or draws a random number, and nothing here knows
//! protobuf: the shell and `proto::log` map between wire messages and these types.

pub mod error;
pub mod id;
pub mod limits;
pub mod op;
pub mod outcome;
pub mod range;
pub mod record;
pub mod revision;
pub mod time;

pub use error::OpError;
pub use id::{ClusterId, Index, LeaseId, MemberId, Term};
pub use op::{Compare, CompareResult, CompareTarget, DeleteOp, Op, PutOp, RangeOp, TxnOp};
pub use range::KeyRange;
pub use record::Record;
pub use revision::Revision;
pub use time::Time;
