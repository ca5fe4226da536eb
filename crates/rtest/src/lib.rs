//! Real processes under faults: a recorder keeps what was acknowledged, the server is killed, and
//! what it serves afterwards is held against the record.

pub mod cage;
pub mod cases;
pub mod cluster;
pub mod dice;
pub mod disk;
pub mod ends;
pub mod full;
pub mod kill;
pub mod memory;
pub mod recorder;
pub mod server;
pub mod stall;
pub mod strace;
pub mod wait;
pub mod watching;
pub mod writer;
