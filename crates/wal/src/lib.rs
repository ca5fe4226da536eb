//! The write-ahead log: segments, framed records, batches, recovery.
