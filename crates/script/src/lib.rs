//! The runner of golden scripts.
