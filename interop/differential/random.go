package main

func runRandom(o options, r *rules, t *tally) error { return nil }
