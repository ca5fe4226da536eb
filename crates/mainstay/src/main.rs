//! The one binary: server, command-line client, load generator.

fn main() {}
