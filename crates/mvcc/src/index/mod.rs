//! The ordered index: keys with order statistics over the live ones.

mod keys;
mod shape;
mod tree;

pub(crate) use tree::{Pos, Tree};

#[cfg(test)]
mod tests;
