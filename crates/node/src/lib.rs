//! One raft node: proposals, read index, ticks, what must be persisted before what is sent.
