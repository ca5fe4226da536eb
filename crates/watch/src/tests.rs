//! Unit tests of the hub.
