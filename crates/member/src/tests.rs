//! A member on a simulated disk: requests in, answers out, restarts between.

mod cluster;
mod kv;
mod lease;
mod membership;
mod rig;
mod upkeep;
