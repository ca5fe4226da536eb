//! What every command that talks to a server shares: flags and environment -> client, display
//! and the time of one request.

use std::time::Duration;

use client::{Call, Client, Code, Config, Status};

use crate::cli::Invocation;
use crate::cli::flags::Values;
use crate::printers::{Answer, Display};
use crate::text::quote::quote;
use crate::{Failure, complain};

/// Prefix of the environment variables.
const ENV_PREFIX: &str = "ETCDCTL_";

/// One run of one command.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) display: Display,
    pub(crate) endpoints: Vec<String>,
    config: Config,
    command_timeout: Duration,
}

impl Session {
    /// Reads the environment, checks the flags and makes the client; connects with its first
    /// call.
    pub(crate) fn open(invocation: &Invocation) -> Result<Session, Failure> {
        let flags = &from_environment(invocation)?;
        refuse_absent(flags)?;
        let display = Display::new(flags.text("write-out"), flags.is_on("hex"))?;
        let endpoints = flags.list("endpoints");
        let bytes = |name: &str| usize::try_from(flags.int(name)).ok().filter(|&max| max > 0);
        let mut config = Config::new(endpoints.clone());
        config.dial_timeout = flags.duration("dial-timeout");
        config.send_bytes_max = bytes("max-request-bytes").unwrap_or(config.send_bytes_max);
        config.receive_bytes_max = bytes("max-recv-bytes").unwrap_or(config.receive_bytes_max);
        Ok(Session {
            client: connect(&config)?,
            display,
            endpoints,
            config,
            command_timeout: flags.duration("command-timeout"),
        })
    }

    /// A client of one of the endpoints.
    pub(crate) fn client_of(&self, endpoint: &str) -> Result<Client, Failure> {
        let endpoints = vec![endpoint.to_owned()];
        connect(&Config { endpoints, ..self.config.clone() })
    }

    /// The settings of a short request.
    pub(crate) fn call(&self) -> Call {
        Call::within(self.command_timeout)
    }

    /// The settings of a request without an end.
    pub(crate) fn patient_call(&self) -> Call {
        Call { wait_for_ready: true, ..Call::default() }
    }

    /// Prints an answer in the chosen format.
    pub(crate) fn print(&self, answer: &Answer<'_>) -> Result<(), Failure> {
        self.display.print(answer)
    }

    /// The endpoints to visit one by one: those given, or with `--cluster` every member's.
    pub(crate) async fn each_endpoint(&self, of_cluster: bool) -> Result<Vec<String>, Failure> {
        if !of_cluster {
            return Ok(self.endpoints.clone());
        }
        let members = self.client.member_list(true, &self.call()).await.map_err(|status| {
            let text = status_text(&status);
            let what = "failed to fetch endpoints from etcd cluster member list";
            Failure::new(Failure::ERROR, format!("{what}: {text}"))
        })?;
        Ok(members.members.into_iter().flat_map(|member| member.client_ur_ls).collect())
    }
}

fn connect(config: &Config) -> Result<Client, Failure> {
    Client::new(config.clone()).map_err(|status| Failure::new(Failure::ERROR, status.message))
}

/// The text of a failed call as etcd's client shows it.
pub(crate) fn status_text(status: &Status) -> String {
    let is_etcds = status.message.starts_with("etcdserver: ");
    match status.code {
        _ if is_etcds => status.message.clone(),
        Code::DEADLINE_EXCEEDED => "context deadline exceeded".to_owned(),
        _ => status.to_string(),
    }
}

/// The flags with the environment's values in place of the defaults.
fn from_environment(invocation: &Invocation) -> Result<Values, Failure> {
    let mut flags = invocation.flags.clone();
    let is_watch = invocation.command.name == "watch";
    let mut used = Vec::new();
    for &flag in &invocation.inherited {
        let name = env_name(flag.name);
        let Some(value) = std::env::var(&name).ok().filter(|value| !value.is_empty()) else {
            continue;
        };
        if !invocation.flags.is_changed(flag.name) {
            used.push(name);
            // etcdctl, too, goes on with the default where a variable cannot be read.
            let _ = flags.set(flag, &value);
        }
    }
    for (name, value) in std::env::vars() {
        if !name.starts_with(ENV_PREFIX) || used.contains(&name) {
            continue;
        }
        let is_flag = invocation.inherited.iter().any(|flag| env_name(flag.name) == name);
        if is_flag && !value.is_empty() {
            complain(&format!(
                "conflicting environment variable {name} is shadowed by corresponding \
                 command-line flag (either unset environment variable or disable flag)"
            ));
            return Err(Failure::silent(Failure::ERROR));
        }
        let is_known = is_flag
            || (is_watch && ["ETCDCTL_WATCH_KEY", "ETCDCTL_WATCH_RANGE_END"].contains(&&*name));
        if !is_known {
            complain(&format!("unrecognized environment variable {name}={value}"));
        }
    }
    Ok(flags)
}

fn env_name(flag: &str) -> String {
    format!("{ENV_PREFIX}{}", flag.to_uppercase().replace('-', "_"))
}

/// Ends the command where a flag asks for what this build does not have: never plain text where
/// TLS was asked for.
fn refuse_absent(flags: &Values) -> Result<(), Failure> {
    for name in ["cert", "key", "cacert"] {
        if flags.is_changed(name) && flags.text(name).is_empty() {
            let text = format!("empty string is passed to --{name} option");
            return Err(Failure::bad_args(text));
        }
    }
    let absent = |name: &str, what: &str| {
        let text = format!("--{name}: {what} not part of this build");
        Err(Failure::new(Failure::ERROR, text))
    };
    for name in ["cert", "key", "cacert"] {
        if !flags.text(name).is_empty() {
            return absent(name, "TLS is");
        }
    }
    if !flags.is_on("insecure-transport") {
        return absent("insecure-transport=false", "TLS is");
    }
    for name in ["user", "auth-jwt-token"] {
        if !flags.text(name).is_empty() {
            return absent(name, "authentication is");
        }
    }
    if !flags.text("discovery-srv").is_empty() {
        return absent("discovery-srv", "discovery by DNS is");
    }
    Ok(())
}

/// Whether `--consistency` asks for a serializable read.
pub(crate) fn is_serializable(option: &str) -> Result<bool, Failure> {
    match option {
        "s" => Ok(true),
        "l" => Ok(false),
        _ => {
            let text = format!("unknown consistency flag {}", quote(option.as_bytes()));
            Err(Failure::new(Failure::BAD_FEATURE, text))
        }
    }
}
