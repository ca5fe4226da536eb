//! Help texts, laid out as cobra lays them out.

use std::fmt::Write;

use super::flags::{Flag, Kind};
use super::tree::{Command, GROUPS, ROOT};

const OPTIONS_HINT: &str = "Use \"etcdctl options\" for a list of global command-line options \
                            (applies to all commands).\n";

/// What `--help` prints.
pub(super) fn help(path: &[&'static Command]) -> String {
    let command = path[path.len() - 1];
    let about = if command.long.is_empty() { command.short } else { command.long };
    format!("{}\n\n{}{OPTIONS_HINT}", about.trim_end(), usage(path))
}

/// What is printed beside an error of a flag.
pub(super) fn usage(path: &[&'static Command]) -> String {
    let command = path[path.len() - 1];
    let mut out = String::from("Usage:\n");
    let names: Vec<&str> = path[..path.len() - 1].iter().map(|command| command.name).collect();
    let parents = names.join(" ");
    // Writing to a string does not fail.
    let _ = match (path.len(), command.subs.is_empty()) {
        (1, _) => writeln!(out, "  etcdctl [command]"),
        (_, true) => {
            let own = command.usage;
            let suffix = if own.contains("[flags]") { "" } else { " [flags]" };
            writeln!(out, "  {parents} {own}{suffix}")
        }
        (_, false) => writeln!(out, "  {parents} {} [command]", command.name),
    };
    if path.len() == 1 {
        groups(&mut out);
    } else {
        subcommands(&mut out, command);
        flags(&mut out, command);
        if path.len() > 2 {
            let inherited: Vec<&Flag> =
                path[1..path.len() - 1].iter().flat_map(|command| command.persistent).collect();
            if !inherited.is_empty() {
                let _ = write!(out, "\nGlobal Flags:\n{}", flag_lines(&inherited));
            }
        }
    }
    if !command.subs.is_empty() {
        let name = if path.len() == 1 {
            "etcdctl".to_owned()
        } else {
            format!("{parents} {}", command.name)
        };
        let hint = "for more information about a command.";
        let _ = writeln!(out, "\nUse \"{name} [command] --help\" {hint}");
    }
    out
}

fn groups(out: &mut String) {
    for (group, title) in GROUPS {
        let _ = writeln!(out, "\n{title}");
        for sub in ROOT.subs.iter().filter(|sub| sub.group == group) {
            let _ = writeln!(out, "  {:<11} {}", sub.name, sub.short);
        }
    }
}

fn subcommands(out: &mut String, command: &Command) {
    if command.subs.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nAvailable Commands:");
    for sub in command.subs {
        let _ = writeln!(out, "  {:<11} {}", sub.name, sub.short);
    }
}

fn flags(out: &mut String, command: &Command) {
    let help = Flag::new("help", Kind::Switch, "").short('h');
    let mut own: Vec<&Flag> = command.flags.iter().chain(command.persistent).collect();
    own.push(&help);
    own.sort_by_key(|flag| flag.name);
    let lines = flag_lines(&own);
    let lines = lines.replace("--help ", "--help\u{0}");
    let about = format!("help for {}", command.name);
    let lines: Vec<String> = lines
        .lines()
        .map(|line| match line.contains('\u{0}') {
            true => format!("{}{about}", line.replace('\u{0}', " ")),
            false => line.to_owned(),
        })
        .collect();
    let _ = writeln!(out, "\nFlags:\n{}", lines.join("\n"));
}

/// One aligned line a flag.
pub(super) fn flag_lines(flags: &[&Flag]) -> String {
    let heads: Vec<String> = flags.iter().map(|flag| head(flag)).collect();
    let width = heads.iter().map(String::len).max().unwrap_or(0);
    let mut out = String::new();
    for (flag, head) in flags.iter().zip(heads) {
        let _ = writeln!(out, "{head:<width$}   {}{}", flag.usage, default(flag));
    }
    out
}

fn head(flag: &Flag) -> String {
    let kind = match flag.kind {
        Kind::Switch => "",
        Kind::Int => " int",
        Kind::Text => " string",
        Kind::Duration => " duration",
        Kind::List => " strings",
    };
    match flag.short {
        Some(short) => format!("  -{short}, --{}{kind}", flag.name),
        None => format!("      --{}{kind}", flag.name),
    }
}

fn default(flag: &Flag) -> String {
    match flag.kind {
        _ if flag.default.is_empty() => String::new(),
        Kind::Text => format!(" (default \"{}\")", flag.default),
        Kind::List => format!(" (default [{}])", flag.default),
        Kind::Switch | Kind::Int | Kind::Duration => format!(" (default {})", flag.default),
    }
}

/// What `options` prints: the flags of every command.
pub(crate) fn options() -> String {
    let mut flags: Vec<&Flag> = ROOT.persistent.iter().collect();
    flags.sort_by_key(|flag| flag.name);
    format!("The following options can be passed to any command:\n\n{}", flag_lines(&flags))
}
