//! What libFuzzer says at the end of a run.

/// Figures of one run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Figures {
    /// Inputs run.
    pub(super) executions: u64,
    /// Those of the corpora.
    replayed: u64,
    /// Edges of the program's flow that the kept corpora reached.
    covered_first: u64,
    /// Those reached at the end.
    covered: u64,
    /// Inputs that were worth keeping, at the end.
    inputs: u64,
    /// Most memory used, MiB.
    memory_mb: u64,
}

impl Figures {
    /// What stands above the lines.
    pub(super) const HEADING: &str =
        "target           executions  edges first  edges last  inputs  MiB";

    /// One line of the table.
    pub(super) fn line(&self, target: &str) -> String {
        let Figures { executions, covered_first, covered, inputs, memory_mb, .. } = self;
        format!(
            "{target:<16} {executions:>10} {covered_first:>12} {covered:>11} {inputs:>7} {memory_mb:>4}"
        )
    }

    /// Inputs that were in no corpus.
    pub(super) fn tried(&self) -> u64 {
        self.executions.saturating_sub(self.replayed)
    }

    /// Reads the log of a run that ended by itself.
    pub(super) fn parse(log: &str) -> Option<Figures> {
        let event = |name: &str| log.lines().rev().find(|line| line.contains(name));
        let last = event("\tDONE")?;
        let first = event("\tINITED")?;
        let stat = |name: &str| {
            let line = log.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim_start_matches(':').trim().parse().ok()
        };
        Some(Figures {
            executions: stat("stat::number_of_executed_units")?,
            replayed: after(first, "#")?,
            covered_first: after(first, "cov: ")?,
            covered: after(last, "cov: ")?,
            inputs: after(last, "corp: ")?,
            memory_mb: stat("stat::peak_rss_mb")?,
        })
    }
}

/// The number that follows a word.
fn after(line: &str, word: &str) -> Option<u64> {
    let (_, rest) = line.split_once(word)?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

/// What a log says about a finding: the panic and the sanitizer's summary, or else its last lines.
pub(super) fn end_of(log: &str) -> String {
    let tells = ["panicked at", "ERROR:", "SUMMARY:", "INFO: Seed"];
    let lines: Vec<&str> = log.lines().collect();
    let mut told = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if tells.iter().any(|word| line.contains(word)) {
            told.push(*line);
            // The message of a panic follows its place.
            told.extend(lines.get(at + 1).filter(|_| line.contains("panicked at")));
        }
    }
    if told.len() < 2 {
        told = lines[lines.len().saturating_sub(12)..].to_vec();
    }
    told.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_a_run_are_read() {
        let log = "INFO: Seed: 7\n#17\tINITED cov: 412 ft: 1030 corp: 16/1b exec/s: 0 rss: 60Mb\n\
                   #90\tNEW    cov: 413 ft: 1031 corp: 17/1b lim: 4\n\
                   #5301\tDONE   cov: 500 ft: 1400 corp: 33/1200b lim: 62 exec/s: 176 rss: 90Mb\n\
                   Done 5301 runs in 31 second(s)\nstat::number_of_executed_units: 5301\n\
                   stat::average_exec_per_sec:     171\nstat::peak_rss_mb:              91\n";
        let figures = Figures::parse(log).expect("it is whole");
        assert_eq!(
            figures.line("db_open"),
            "db_open                5301          412         500      33   91"
        );
        assert_eq!(figures.tried(), 5301 - 17);
        assert_eq!(Figures::HEADING.len(), figures.line("db_open").len());
    }

    #[test]
    fn a_run_that_was_cut_has_no_figures_and_its_end_tells_the_panic() {
        let log = "INFO: Seed: 7\n#17\tINITED cov: 412 ft: 1 corp: 16/1b\nthread panicked at x.rs:3:\n\
                   index out of bounds\nnote\n==9== ERROR: libFuzzer: deadly signal\n";
        assert_eq!(Figures::parse(log), None);
        assert_eq!(
            end_of(log),
            "INFO: Seed: 7\nthread panicked at x.rs:3:\nindex out of bounds\n\
             ==9== ERROR: libFuzzer: deadly signal"
        );
    }
}
