//! Entry for the fuzzer, and for the test that replays its corpus: bytes never make the
//! configuration panic.

use crate::config;

/// Lines before an empty line are arguments, lines after it variables; all of it is also read as
/// a configuration file. Nothing is read from disk.
pub fn configuration(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (args, env) = text.split_once("\n\n").unwrap_or((&text, ""));
    let args: Vec<String> =
        args.lines().filter(|arg| !arg.contains("config-file")).map(str::to_string).collect();
    let env: Vec<(String, String)> = env
        .lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(name, _)| *name != "ETCD_CONFIG_FILE")
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    // Only that it ends matters here; what it says is tested elsewhere.
    let _ = config::load(&args, &env);
    let _ = config::parse_file(&text);
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_corpus_of_configurations_replays() {
        script::corpus::replay("configuration", super::configuration);
    }
}
