//! Tests of the keyspace, area by area.

mod encoding;
