//! One line of a script: `put key "some value" lease=7`.

use anyhow::{Context, Result, bail, ensure};
use std::str::FromStr;

/// A command: its name, its plain arguments in order, and its `name=value` options.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    /// The first word.
    pub name: String,
    /// Words without an equals sign.
    pub args: Vec<String>,
    options: Vec<(String, String)>,
}

impl Command {
    /// Takes a line apart. Words are split at blanks, unless quoted; `\0`, `\n`, `\xNN`, `\"`
    /// and `\\` mean what they do in Rust, a byte above `\x7f` becomes that Unicode character.
    pub fn parse(line: &str) -> Result<Command> {
        let mut words = split(line)?.into_iter();
        let name = words.next().context("an empty command")?.text;
        let (mut args, mut options) = (Vec::new(), Vec::new());
        for word in words {
            match word.equals {
                Some(at) => {
                    options.push((word.text[..at].to_owned(), word.text[at + 1..].to_owned()));
                }
                None => args.push(word.text),
            }
        }
        Ok(Command { name, args, options })
    }

    /// The argument at a position.
    pub fn arg(&self, at: usize) -> Result<&str> {
        let arg = self.args.get(at).map(String::as_str);
        arg.with_context(|| format!("{} needs argument {}", self.name, at + 1))
    }

    /// The argument at a position, parsed.
    pub fn parse_arg<T: FromStr>(&self, at: usize) -> Result<T> {
        let arg = self.arg(at)?;
        arg.parse().ok().with_context(|| format!("argument {arg} is none of its kind"))
    }

    /// An option's text.
    pub fn option(&self, name: &str) -> Option<&str> {
        let mut found = self.options.iter().filter(|(option, _)| option == name);
        found.next_back().map(|(_, value)| value.as_str())
    }

    /// An option, parsed, or its default.
    pub fn parse_option<T: FromStr>(&self, name: &str, default: T) -> Result<T> {
        match self.option(name) {
            None => Ok(default),
            Some(text) => {
                text.parse().ok().with_context(|| format!("{name}={text} is none of its kind"))
            }
        }
    }

    /// True if a plain argument says so: `get a b keys_only`.
    pub fn has(&self, flag: &str) -> bool {
        self.args.iter().any(|arg| arg == flag)
    }

    /// An error for a command that nobody knows.
    pub fn unknown<T>(&self) -> Result<T> {
        bail!("no such command: {}", self.name)
    }
}

struct Word {
    text: String,
    /// Where the first equals sign outside quotes is.
    equals: Option<usize>,
}

fn split(line: &str) -> Result<Vec<Word>> {
    let mut words = Vec::new();
    let mut chars = line.chars().peekable();
    loop {
        while chars.next_if(|c| *c == ' ').is_some() {}
        if chars.peek().is_none() {
            return Ok(words);
        }
        let mut word = Word { text: String::new(), equals: None };
        let mut quoted = false;
        while let Some(c) = chars.next_if(|c| quoted || *c != ' ') {
            match c {
                '"' => quoted = !quoted,
                '\\' => word.text.push(escaped(&mut chars)?),
                '=' if !quoted && word.equals.is_none() => {
                    word.equals = Some(word.text.len());
                    word.text.push('=');
                }
                c => word.text.push(c),
            }
        }
        ensure!(!quoted, "a quote is not closed: {line}");
        words.push(word);
    }
}

fn escaped(chars: &mut impl Iterator<Item = char>) -> Result<char> {
    match chars.next().context("a line ends with a backslash")? {
        '0' => Ok('\0'),
        'n' => Ok('\n'),
        'x' => {
            let digits: String = chars.take(2).collect();
            let byte = u8::from_str_radix(&digits, 16).context("\\x needs two hex digits")?;
            Ok(char::from(byte))
        }
        c => Ok(c),
    }
}
