//! Texts, flags and formats. What a whole command line prints is compared with real etcdctl by
//! `interop/ctl/compare.sh`.

mod arguments;
mod formats;
mod texts;
