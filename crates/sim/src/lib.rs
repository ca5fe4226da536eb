//! The simulator: one thread, one seed, simulated disk and clock, faults and invariants.
