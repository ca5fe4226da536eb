//! The whole server in one process: a real member on a real folder, and h2 as the client.

mod cancel;
mod counted;
mod figures;
mod kv;
mod programs;
mod rig;
mod transport;
