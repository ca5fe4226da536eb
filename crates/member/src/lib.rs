//! Owns node and store: events in, effects out, all bookkeeping of durability and apply.
