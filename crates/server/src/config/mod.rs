//! The server's configuration: flags, environment, file, and what is refused.
//!
//! ```text
//! command line ─▶ args ─┐
//! environment  ─▶ env  ─┼─▶ Values ─▶ Config (typed, checked)
//! file (alone) ─▶ file ─┘
//! ```

mod args;
mod build;
mod check;
pub(crate) mod duration;
mod env;
mod file;
mod flags;
pub(crate) mod initial;
mod settings;
pub mod url;
pub mod usage;

#[cfg(test)]
mod tests;

use args::Parsed;
use flags::Support;
pub use initial::Founder;
pub use settings::{CompactionMode, Config};

/// What a start of the program leads to.
#[derive(Debug)]
pub enum Start {
    /// Serve with this configuration; the lines are worth a word in the log first.
    Serve(Box<Config>, Vec<Line>),
    /// Print this on standard output and end well.
    Print(String),
    /// Print this on standard error and end with 2: the command line cannot be read.
    Usage(String),
    /// Log these and end with 1: the configuration is refused.
    Refused(Vec<Line>),
}

/// One line for the log, from before there is a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// `info`, `warn` or `fatal`.
    pub level: &'static str,
    /// The message.
    pub message: String,
    /// Fields beside it.
    pub fields: Vec<(&'static str, String)>,
}

impl Line {
    fn warn(message: impl Into<String>, fields: Vec<(&'static str, String)>) -> Line {
        Line { level: "warn", message: message.into(), fields }
    }
}

/// Reads the text of a configuration file and checks what it says; the error says why not.
pub(crate) fn parse_file(text: &str) -> Result<Config, String> {
    file::parse(text).and_then(|values| build::build(&values))
}

/// Reads command line (without the program's name) and environment.
pub fn load(args: &[String], env: &[(String, String)]) -> Start {
    let (mut values, stray) = match args::parse(args) {
        Err(text) => return Start::Usage(format!("{text}\n{}", usage::short())),
        Ok(Parsed::Version) => return Start::Print(usage::version()),
        Ok(Parsed::Help) => return Start::Print(usage::full()),
        Ok(Parsed::Serve { values, stray }) => (values, stray),
    };
    let mut lines = Vec::new();
    if let Some(stray) = stray {
        return refuse(lines, format!("\"{stray}\" is not a valid flag"));
    }
    let file = values.get("config-file").cloned().or_else(|| {
        let found = env.iter().find(|(key, value)| key == "ETCD_CONFIG_FILE" && !value.is_empty());
        found.map(|(_, value)| value.clone())
    });
    match file {
        Some(path) => match file::read(&path) {
            Err(why) => return refuse(lines, why),
            Ok(read) => {
                lines.push(Line {
                    level: "info",
                    message: "loaded server configuration, other configuration command line \
                              flags and environment variables will be ignored if provided"
                        .to_string(),
                    fields: vec![("path", path)],
                });
                values = read;
            }
        },
        None => match env::merge(env, &mut values) {
            Err(env::EnvError::Conflict(key)) => {
                lines.push(Line {
                    level: "fatal",
                    message: "conflicting environment variable is shadowed by corresponding \
                              command-line flag (either unset environment variable or disable \
                              flag))"
                        .to_string(),
                    fields: vec![("environment-variable", key)],
                });
                return Start::Refused(lines);
            }
            Err(env::EnvError::Invalid(why)) => return refuse(lines, why),
            Ok(notes) => lines.extend(env_lines(notes)),
        },
    }
    if let Some(why) = values.iter().find_map(|(name, value)| refused_flag(name, value)) {
        return refuse(lines, why);
    }
    lines.extend(values.iter().filter_map(|(name, value)| no_effect(name, value)));
    match build::build(&values).and_then(|config| check::check(&config).map(|()| config)) {
        Err(why) => refuse(lines, why),
        Ok(config) => {
            lines.extend(check::warnings(&config));
            Start::Serve(Box::new(config), lines)
        }
    }
}

fn refuse(mut lines: Vec<Line>, why: String) -> Start {
    lines.push(Line::warn("failed to verify flags", vec![("error", why)]));
    Start::Refused(lines)
}

fn env_lines(notes: env::Notes) -> Vec<Line> {
    let used = notes.used.into_iter().map(|(key, value)| Line {
        level: "info",
        message: "recognized and used environment variable".to_string(),
        fields: vec![("variable-name", key), ("variable-value", value)],
    });
    let unknown = notes.unknown.into_iter().map(|key| {
        Line::warn("unrecognized environment variable", vec![("environment-variable", key)])
    });
    let version = notes.version.into_iter().map(|value| {
        Line::warn(
            "cannot set special environment variable",
            vec![("key", "ETCD_VERSION".to_string()), ("value", value)],
        )
    });
    version.chain(used).chain(unknown).collect()
}

/// The reason why a flag that this build cannot honour ends the start.
fn refused_flag(name: &str, value: &str) -> Option<String> {
    let flag = flags::find(name)?;
    let Support::Later(reason) = flag.support else { return None };
    let same = value == flag.default
        || (flag.kind == flags::Kind::Bool
            && args::parse_bool(value) == args::parse_bool(flag.default));
    (!same).then(|| format!("--{name}: {reason}"))
}

fn no_effect(name: &str, value: &str) -> Option<Line> {
    match name {
        "max-snapshots" => {
            return Some(Line::warn(
                "--max-snapshots is deprecated in 3.6 and will be decommissioned in 3.8",
                vec![],
            ));
        }
        "v2-deprecation" => {
            return Some(Line::warn(
                "--v2-deprecation is deprecated and scheduled for removal in v3.8. The default \
                 value is enforced, ignoring user input",
                vec![],
            ));
        }
        _ => {}
    }
    let flag = flags::find(name)?;
    (flag.support == Support::NoEffect && value != flag.default).then(|| {
        Line::warn(
            "this flag has no effect",
            vec![("flag", format!("--{name}")), ("value", value.to_string())],
        )
    })
}
