//! How Go writes and reads text: the outputs of etcdctl are made of it.

pub(crate) mod duration;
pub(crate) mod number;
pub(crate) mod quote;
pub(crate) mod words;
