package main

func selftest(o options, cases []testCase) error { return nil }
