//! Round trips of the hand codecs against prost.
