//! Flags: their declaration and how arguments are read, as pflag does.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use crate::text::{duration, number, quote};

/// What a flag's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Switch,
    Int,
    Text,
    Duration,
    /// Comma-separated; repeated flags add up.
    List,
}

/// One flag.
#[derive(Debug)]
pub(crate) struct Flag {
    pub(crate) name: &'static str,
    pub(crate) short: Option<char>,
    pub(crate) kind: Kind,
    /// Empty where the default is the kind's zero.
    pub(crate) default: &'static str,
    pub(crate) usage: &'static str,
}

impl Flag {
    pub(crate) const fn new(name: &'static str, kind: Kind, usage: &'static str) -> Flag {
        Flag { name, short: None, kind, default: "", usage }
    }

    pub(crate) const fn short(mut self, short: char) -> Flag {
        self.short = Some(short);
        self
    }

    pub(crate) const fn default(mut self, default: &'static str) -> Flag {
        self.default = default;
        self
    }

    pub(crate) fn is_switch(&self) -> bool {
        self.kind == Kind::Switch
    }

    /// Checks a value; the error is the parser's text.
    fn check(&self, value: &str) -> Result<(), String> {
        match self.kind {
            Kind::Switch => number::parse_bool(value).map(drop),
            Kind::Int => number::parse_flag_int(value).map(drop),
            Kind::Duration => duration::parse(value).map(drop),
            Kind::Text | Kind::List => Ok(()),
        }
    }
}

/// Why arguments were not understood.
#[derive(Debug)]
pub(crate) enum Error {
    /// `--help` or `-h`.
    Help,
    /// The text to print.
    Wrong(String),
}

/// The values of all flags of a command. Every value has been checked against its kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values(BTreeMap<&'static str, Value>);

#[derive(Clone, Debug)]
struct Value {
    text: String,
    is_changed: bool,
}

impl Values {
    fn new(known: &[&'static Flag]) -> Values {
        let default = |flag: &&'static Flag| {
            (flag.name, Value { text: flag.default.to_owned(), is_changed: false })
        };
        Values(known.iter().map(default).collect())
    }

    /// Sets a flag; the error is the text of its parser.
    pub(crate) fn set(&mut self, flag: &'static Flag, text: &str) -> Result<(), String> {
        flag.check(text)?;
        let value = self.0.get_mut(flag.name).expect("a known flag has a value");
        if flag.kind == Kind::List && value.is_changed {
            value.text.push(',');
            value.text.push_str(text);
        } else {
            text.clone_into(&mut value.text);
        }
        value.is_changed = true;
        Ok(())
    }

    /// Whether the flag was given.
    pub(crate) fn is_changed(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| value.is_changed)
    }

    /// A text flag.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", |value| &value.text)
    }

    /// A switch.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        number::parse_bool(self.text(name)).unwrap_or(false)
    }

    /// An integer flag.
    pub(crate) fn int(&self, name: &str) -> i64 {
        number::parse_flag_int(self.text(name)).unwrap_or(0)
    }

    /// A duration flag.
    pub(crate) fn duration(&self, name: &str) -> Duration {
        duration::parse(self.text(name)).unwrap_or_default()
    }

    /// A list flag.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        self.text(name).split(',').map(|item| item.trim().to_owned()).collect()
    }
}

pub(crate) fn by_name(known: &[&'static Flag], name: &str) -> Option<&'static Flag> {
    known.iter().find(|flag| flag.name == name).copied()
}

pub(crate) fn by_short(known: &[&'static Flag], short: char) -> Option<&'static Flag> {
    known.iter().find(|flag| flag.short == Some(short)).copied()
}

/// Splits arguments into flags and positional arguments.
pub(crate) fn parse(
    known: &[&'static Flag],
    args: &[OsString],
) -> Result<(Values, Vec<OsString>), Error> {
    let mut values = Values::new(known);
    let mut positional = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let text = arg.to_string_lossy();
        if text == "--" {
            positional.extend(args.by_ref().cloned());
        } else if let Some(long) = text.strip_prefix("--") {
            parse_long(known, &mut values, long, &mut args)?;
        } else if text.starts_with('-') && text.len() > 1 {
            parse_shorts(known, &mut values, &text[1..], &mut args)?;
        } else {
            positional.push(arg.clone());
        }
    }
    Ok((values, positional))
}

fn parse_long<'a>(
    known: &[&'static Flag],
    values: &mut Values,
    long: &str,
    args: &mut impl Iterator<Item = &'a OsString>,
) -> Result<(), Error> {
    let (name, given) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (long, None),
    };
    if name.is_empty() || name.starts_with('-') {
        return Err(Error::Wrong(format!("bad flag syntax: --{long}")));
    }
    let Some(flag) = by_name(known, name) else {
        return Err(match name {
            "help" => Error::Help,
            _ => Error::Wrong(format!("unknown flag: --{name}")),
        });
    };
    let value = match given {
        Some(value) => value,
        None if flag.is_switch() => "true".to_owned(),
        None => match args.next() {
            Some(value) => value.to_string_lossy().into_owned(),
            None => return Err(Error::Wrong(format!("flag needs an argument: --{name}"))),
        },
    };
    set(values, flag, &value)
}

fn parse_shorts<'a>(
    known: &[&'static Flag],
    values: &mut Values,
    shorts: &str,
    args: &mut impl Iterator<Item = &'a OsString>,
) -> Result<(), Error> {
    let mut rest = shorts;
    while let Some(short) = rest.chars().next() {
        rest = &rest[short.len_utf8()..];
        let Some(flag) = by_short(known, short) else {
            return Err(match short {
                'h' => Error::Help,
                _ => Error::Wrong(format!("unknown shorthand flag: '{short}' in -{shorts}")),
            });
        };
        if let Some(value) = rest.strip_prefix('=') {
            return set(values, flag, value);
        }
        if flag.is_switch() {
            set(values, flag, "true")?;
            continue;
        }
        if !rest.is_empty() {
            return set(values, flag, rest);
        }
        return match args.next() {
            Some(value) => set(values, flag, &value.to_string_lossy()),
            None => Err(Error::Wrong(format!("flag needs an argument: '{short}' in -{shorts}"))),
        };
    }
    Ok(())
}

fn set(values: &mut Values, flag: &'static Flag, value: &str) -> Result<(), Error> {
    values.set(flag, value).map_err(|why| {
        let value = quote::quote(value.as_bytes());
        let name = match flag.short {
            Some(short) => format!("-{short}, --{}", flag.name),
            None => format!("--{}", flag.name),
        };
        Error::Wrong(format!("invalid argument {value} for \"{name}\" flag: {why}"))
    })
}
