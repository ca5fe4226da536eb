//! Command lines in Go's form: `--x=v`, `--x v`, `-x v`; a boolean takes a value only after `=`.

use super::flags::{self, Kind};
use super::{duration, url};
use std::collections::BTreeMap;

/// Texts of the flags that were set, by name.
pub(crate) type Values = BTreeMap<&'static str, String>;

/// What a command line says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Parsed {
    /// Start the server; `stray` is the first argument that is no flag.
    Serve { values: Values, stray: Option<String> },
    /// Print the version.
    Version,
    /// Print the help.
    Help,
}

/// Reads a command line; the error is etcd's text (exit 2).
pub(crate) fn parse(args: &[String]) -> Result<Parsed, String> {
    let mut values = Values::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let Some(body) = arg.strip_prefix('-').filter(|body| !body.is_empty()) else {
            return Ok(Parsed::Serve { values, stray: Some(arg.clone()) });
        };
        let body = body.strip_prefix('-').unwrap_or(body);
        if body.is_empty() {
            return Ok(Parsed::Serve { values, stray: rest.next().cloned() });
        }
        if body.starts_with(['-', '=']) {
            return Err(format!("bad flag syntax: {arg}"));
        }
        let (name, inline) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (body, None),
        };
        match name {
            "help" | "h" => return Ok(Parsed::Help),
            "version" => return Ok(Parsed::Version),
            _ => set(name, inline, &mut rest, &mut values)?,
        }
    }
    Ok(Parsed::Serve { values, stray: None })
}

fn set<'a>(
    name: &str,
    inline: Option<String>,
    rest: &mut impl Iterator<Item = &'a String>,
    values: &mut Values,
) -> Result<(), String> {
    let Some(flag) = flags::find(name) else {
        if !flags::IGNORED.contains(&name) {
            return Err(format!("flag provided but not defined: -{name}"));
        }
        // Old flags with a value take it; a following flag is not one.
        return Ok(());
    };
    let value = match (inline, flag.kind) {
        (Some(value), _) => value,
        (None, Kind::Bool) => "true".to_string(),
        (None, _) => {
            rest.next().cloned().ok_or_else(|| format!("flag needs an argument: -{name}"))?
        }
    };
    check(flag.kind, &value).map_err(|why| match flag.kind {
        Kind::Bool => format!("invalid boolean value \"{value}\" for -{name}: {why}"),
        _ => format!("invalid value \"{value}\" for flag -{name}: {why}"),
    })?;
    values.insert(flag.name, value);
    Ok(())
}

/// Checks the text of a value; the error is etcd's reason.
pub(crate) fn check(kind: Kind, value: &str) -> Result<(), String> {
    let number = |ok: bool| {
        let digits = value.strip_prefix(['-', '+']).unwrap_or(value);
        match ok {
            true => Ok(()),
            false if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                Err("value out of range".to_string())
            }
            false => Err("parse error".to_string()),
        }
    };
    match kind {
        Kind::Text => Ok(()),
        Kind::Bool => parse_bool(value).map(|_| ()).ok_or_else(|| "parse error".to_string()),
        Kind::Int => number(value.parse::<i64>().is_ok()),
        Kind::Uint => number(value.parse::<u64>().is_ok()),
        Kind::Uint32 => number(value.parse::<u32>().is_ok()),
        Kind::Duration => {
            duration::parse(value).map(|_| ()).ok_or_else(|| "parse error".to_string())
        }
        Kind::Urls => url::parse_list(value).map(|_| ()),
        Kind::Word(words) if words.contains(&value) => Ok(()),
        Kind::Word(words) if words[0] == "write-only" => Err(format!("invalid value \"{value}\"")),
        Kind::Word(_) => Err("invalid value".to_string()),
        Kind::Gates => parse_gates(value).map(|_| ()),
    }
}

/// Go's spellings of a boolean.
pub(crate) fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// Reads `Name=true,Name=false` into all gates with their states.
pub(crate) fn parse_gates(text: &str) -> Result<BTreeMap<&'static str, bool>, String> {
    let mut gates: BTreeMap<&'static str, bool> =
        flags::GATES.iter().map(|(name, _, default)| (*name, *default)).collect();
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let mut given = Vec::new();
    for pair in pairs {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(format!("missing bool value for {pair}"));
        };
        let Some((known, ..)) = flags::GATES.iter().find(|(known, ..)| *known == name.trim())
        else {
            return Err(format!("unrecognized feature gate: {}", name.trim()));
        };
        let value = parse_bool(value.trim()).ok_or_else(|| {
            format!(
                "invalid value of {known}={value}, err: strconv.ParseBool: parsing \"{value}\": invalid syntax"
            )
        })?;
        given.push((*known, value));
    }
    for (all, stage) in [("AllAlpha", "ALPHA"), ("AllBeta", "BETA")] {
        if let Some((_, value)) = given.iter().find(|(name, _)| *name == all) {
            for (name, ..) in flags::GATES.iter().filter(|(_, of, _)| *of == stage) {
                gates.insert(name, *value);
            }
        }
    }
    gates.extend(given);
    Ok(gates)
}
