//! A disk of our own under the real server: it forgets or tears what was not synced, stalls in
//! sync, fails, or is full.
//!
//! `image` is what the disk holds, in memory; `mount` shows it to the kernel through FUSE.

pub mod image;
mod mount;

pub use image::{Image, Loss, Refusal};
pub use mount::Mount;
