//! How the process ends when it must not go on.
//!
//! A disk that failed: exit 74 (EX_IOERR). Data that cannot be trusted: exit 65 (EX_DATAERR).
//! Nothing is retried and nothing more is answered; a supervisor decides what comes next.

use std::fmt::Display;

/// The disk failed.
pub const EXIT_IO: i32 = 74;
/// What is stored cannot be trusted.
pub const EXIT_DATA: i32 = 65;

/// Ends the process because what is stored cannot be trusted.
pub fn refuse(error: &dyn Display) -> ! {
    tracing::error!(error = %error, "cannot go on with what is stored");
    std::process::exit(EXIT_DATA)
}

/// Ends the process because the disk failed.
fn disk(error: &vfs::Error) -> ! {
    tracing::error!(
        action = error.action,
        file = %error.path,
        offset = error.offset,
        errno = error.errno,
        error = %error,
        "the disk failed"
    );
    std::process::exit(EXIT_IO)
}

/// Ends the process for an error of the log.
pub fn log(error: &wal::Error) -> ! {
    match error {
        wal::Error::Vfs(error) | wal::Error::NoSpace(error) => disk(error),
        other => refuse(other),
    }
}

/// Ends the process for an error of the backend.
pub fn backend(error: &backend::Error) -> ! {
    match error {
        backend::Error::Vfs(error) | backend::Error::NoSpace(error) => disk(error),
        other => refuse(other),
    }
}

/// The exit code for an error at start.
pub fn exit_code(error: &anyhow::Error) -> i32 {
    let wal = error.downcast_ref::<wal::Error>();
    let backend = error.downcast_ref::<backend::Error>();
    let vfs = error.downcast_ref::<vfs::Error>();
    let store = error.downcast_ref::<store::Error>();
    match (wal, backend, vfs, store) {
        (Some(wal::Error::Vfs(_) | wal::Error::NoSpace(_)), ..)
        | (_, Some(backend::Error::Vfs(_) | backend::Error::NoSpace(_)), ..)
        | (.., Some(store::Error::Backend(backend::Error::Vfs(_)))) => EXIT_IO,
        (_, _, Some(error), _) if error.kind != vfs::ErrorKind::Locked => EXIT_IO,
        (Some(_), ..) | (_, Some(_), ..) | (.., Some(_)) => EXIT_DATA,
        _ if error.is::<member::StartError>() || error.is::<super::start::Refusal>() => EXIT_DATA,
        _ => 1,
    }
}
