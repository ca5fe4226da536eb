//! Multi-version keyspace: key index, resident records, reads at a revision, write transactions.
