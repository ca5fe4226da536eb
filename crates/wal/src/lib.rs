//! The write-ahead log: segments, framed records, batches, recovery.
//!
//! Every answer that promises durability waits for [`Wal::append`], which is one write of whole
//! blocks that exist already and one sync. A batch is kept whole or cut whole; what no crash
//! explains is refused with file, offset and index. `docs/disk-format.md` has the byte tables and
//! the argument why recovery is right.
//!
//! ```text
//!   recover ── reads all segments, decides: whole, cut the last batch, or refuse
//!   open    ── makes a log, or opens one    writer ── appends and trims
//!   spares  ── segments before and after their use: allocated, named, recycled
//!   reader  ── reads old entries by index, from any thread
//!   segment ── header and names of segments      frame ── frames and batches
//! ```

mod api;
mod catalog;
mod error;
mod frame;
pub mod fuzz;
mod mutant;
mod open;
mod reader;
mod recover;
mod repair;
mod segment;
mod spares;
mod tail;
mod writer;

pub use api::{
    Batch, Cut, Entry, EntryKind, Frame, HardState, Identity, Install, Position, Recovered, Use,
    WalConfig,
};
pub use error::{Damage, Error, Result};
pub use frame::BLOCK;
pub use mutant::Mutant;
pub use reader::Reader;
pub use writer::Wal;

#[cfg(test)]
mod tests;
