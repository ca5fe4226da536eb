//! The whole server in one process: a real member on a real folder, and h2 as the client.

mod bounds;
mod cancel;
mod counted;
mod figures;
mod fixture;
mod kv;
mod places;
mod programs;
mod rig;
mod transport;
