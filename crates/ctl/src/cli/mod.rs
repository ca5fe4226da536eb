//! The command line: find the command, read its flags, run it. Behaves as cobra does, with
//! commands abbreviated to any unique prefix and flags anywhere.

pub(crate) mod flags;
mod listing;
mod texts;
pub(crate) mod tree;
pub(crate) mod usage;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use bytes::Bytes;

use crate::{Failure, commands, complain, say};
use flags::{Flag, Values};
use tree::{Command, ROOT};

/// What a command gets to see.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) flags: Values,
    /// Positional arguments.
    pub(crate) args: Vec<OsString>,
    /// All arguments as they were given.
    pub(crate) raw: Vec<OsString>,
    /// Flags that may come from the environment.
    pub(crate) inherited: Vec<&'static Flag>,
    pub(crate) command: &'static Command,
}

impl Invocation {
    /// A positional argument as bytes.
    pub(crate) fn bytes(&self, index: usize) -> Bytes {
        Bytes::copy_from_slice(self.args[index].as_bytes())
    }

    /// A positional argument as text.
    pub(crate) fn text(&self, index: usize) -> String {
        self.args[index].to_string_lossy().into_owned()
    }
}

/// Where the search for a command ended.
struct Found {
    path: Vec<&'static Command>,
    /// The arguments without the commands' names.
    rest: Vec<OsString>,
}

pub(crate) fn run(args: &[OsString]) -> Result<(), Failure> {
    let found = find(args);
    let command = found.path[found.path.len() - 1];
    if command.name == "help" {
        return help_command(&found.rest);
    }
    if found.path.len() == 1
        && let Some(word) = positional(&found.rest, &all_flags(&found.path))
    {
        let word = word.to_string_lossy();
        complain(&format!("Error: unknown command \"{word}\" for \"etcdctl\""));
        complain("Run 'etcdctl --help' for usage.");
        return Err(Failure::silent(Failure::ERROR));
    }
    let known = all_flags(&found.path);
    let (flags, positional) = match flags::parse(&known, &found.rest) {
        Ok(parsed) => parsed,
        Err(flags::Error::Help) => {
            say(usage::help(&found.path).as_bytes());
            return Ok(());
        }
        Err(flags::Error::Wrong(text)) => {
            complain(&format!("Error: {text}"));
            complain(&usage::usage(&found.path));
            return Err(Failure::silent(Failure::ERROR));
        }
    };
    if !command.subs.is_empty() {
        say(usage::help(&found.path).as_bytes());
        return Ok(());
    }
    commands::run(&Invocation {
        flags,
        args: positional,
        raw: args.to_vec(),
        inherited: inherited(&found.path),
        command,
    })
}

fn help_command(rest: &[OsString]) -> Result<(), Failure> {
    let found = find(rest);
    say(usage::help(&found.path).as_bytes());
    Ok(())
}

/// Walks down the tree along the first words that are not flags.
fn find(args: &[OsString]) -> Found {
    let mut path = vec![&ROOT];
    let mut rest = args.to_vec();
    loop {
        let command = path[path.len() - 1];
        let known = all_flags(&path);
        let Some(at) = first_word(&rest, &known) else { break };
        let Some(next) = command.sub(&rest[at].to_string_lossy()) else { break };
        rest.remove(at);
        path.push(next);
    }
    Found { path, rest }
}

fn positional<'a>(args: &'a [OsString], known: &[&'static Flag]) -> Option<&'a OsStr> {
    first_word(args, known).map(|at| args[at].as_os_str())
}

/// The index of the first argument that is neither a flag nor a flag's value.
fn first_word(args: &[OsString], known: &[&'static Flag]) -> Option<usize> {
    let mut at = 0;
    while at < args.len() {
        let text = args[at].to_string_lossy();
        if text == "--" {
            return None;
        }
        if !text.starts_with('-') || text == "-" {
            return Some(at);
        }
        let takes_next = !text.contains('=')
            && match text.strip_prefix("--") {
                Some(name) => !flags::by_name(known, name).is_some_and(Flag::is_switch),
                None => {
                    text.len() == 2
                        && !text[1..]
                            .chars()
                            .next()
                            .and_then(|short| flags::by_short(known, short))
                            .is_some_and(Flag::is_switch)
                }
            };
        at += if takes_next { 2 } else { 1 };
    }
    None
}

/// The flags that a command knows: its own, and the persistent ones of those above it.
fn all_flags(path: &[&'static Command]) -> Vec<&'static Flag> {
    let own = path[path.len() - 1].flags.iter();
    own.chain(path.iter().flat_map(|command| command.persistent)).collect()
}

fn inherited(path: &[&'static Command]) -> Vec<&'static Flag> {
    path[..path.len() - 1].iter().flat_map(|command| command.persistent).collect()
}

/// Finds and reads `get`, `put` or `del` with its flags in a line of a transaction.
pub(crate) fn parse_operation(words: &[OsString]) -> Option<Invocation> {
    let (name, rest) = words.split_first()?;
    let command = ROOT.sub(&name.to_string_lossy())?;
    if !matches!(command.name, "get" | "put" | "del") {
        return None;
    }
    let known: Vec<&'static Flag> = command.flags.iter().collect();
    let (flags, args) = flags::parse(&known, rest).ok()?;
    Some(Invocation { flags, args, raw: words.to_vec(), inherited: Vec::new(), command })
}

/// Reads the arguments of an interactive `watch` line; the error is the flag's.
pub(crate) fn parse_watch(words: &[OsString]) -> Result<Invocation, String> {
    let command = ROOT.sub("watch").expect("the tree has a watch command");
    let known: Vec<&'static Flag> = command.flags.iter().collect();
    match flags::parse(&known, words) {
        Ok((flags, args)) => {
            Ok(Invocation { flags, args, raw: words.to_vec(), inherited: Vec::new(), command })
        }
        Err(flags::Error::Help) => Err("pflag: help requested".to_owned()),
        Err(flags::Error::Wrong(text)) => Err(text),
    }
}
