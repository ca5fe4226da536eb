//! Golden scripts: `campaign`, `propose`, `write`, `synced`, `read`, `transfer` on nodes in memory;
//! messages travel when a script says `deliver` (or `settle`: all of it), or are lost (`lose`).

use crate::{Config, Node, Start};
use anyhow::{Context, Result};
use bytes::Bytes;
use raft::eraftpb::Message;
use script::Command;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use types::MemberId;

#[test]
fn scripts_print_what_they_say() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    script::run_dir(&dir, System::default).unwrap();
}

/// Nodes by number, the batches that are being written, and messages under way.
#[derive(Default)]
struct System {
    nodes: BTreeMap<u64, Node>,
    writing: BTreeMap<u64, u64>,
    under_way: Vec<Message>,
}

impl script::Run for System {
    fn run(&mut self, command: &Command) -> Result<String> {
        let mut out = String::new();
        match command.name.as_str() {
            "cluster" => {
                let count: u64 = command.parse_arg(0)?;
                let voters: Vec<MemberId> = (1..=count).map(MemberId).collect();
                for id in 1..=count {
                    let start = Start { voters: voters.clone(), ..Start::default() };
                    self.nodes.insert(id, Node::new(Config::new(MemberId(id), 1), &start)?);
                }
            }
            "campaign" => self.node(command)?.campaign(),
            "tick" => self.node(command)?.tick(),
            "propose" => {
                let data = Bytes::copy_from_slice(command.arg(1)?.as_bytes());
                if self.node(command)?.propose(vec![data]).is_err() {
                    writeln!(out, "dropped")?;
                }
            }
            "read" => match self.node(command)?.read_index() {
                Some(context) => writeln!(out, "asks, attempt {}", context.sequence)?,
                None => writeln!(out, "nobody can confirm")?,
            },
            "ready" => self.ready(command, &mut out)?,
            "write" => self.write(command, &mut out)?,
            "synced" => {
                let id: u64 = command.parse_arg(0)?;
                let number = self.writing.remove(&id).context("nothing is being written")?;
                self.node(command)?.persisted(number);
            }
            "deliver" => self.deliver(&mut out)?,
            "settle" => self.settle()?,
            "lose" => writeln!(out, "{} lost", std::mem::take(&mut self.under_way).len())?,
            "transfer" => {
                let to = MemberId(command.parse_arg(1)?);
                self.node(command)?.transfer_leader(to);
            }
            "status" => {
                let status = self.node(command)?.status();
                let leader = status.leader.map_or("none".to_owned(), |id| id.to_string());
                let (role, committed, last) = (status.role, status.committed, status.last);
                let term = status.term;
                writeln!(out, "{role:?} in term {term}, leader {leader}, {committed} of {last}")?;
            }
            _ => return command.unknown(),
        }
        Ok(out)
    }
}

impl System {
    fn node(&mut self, command: &Command) -> Result<&mut Node> {
        let id: u64 = command.parse_arg(0)?;
        self.nodes.get_mut(&id).with_context(|| format!("no node {id}"))
    }

    fn ready(&mut self, command: &Command, out: &mut String) -> Result<()> {
        let node = self.node(command)?;
        let mut messages = Vec::new();
        while let Some(ready) = node.ready() {
            for entry in &ready.committed {
                let data = String::from_utf8_lossy(&entry.data);
                writeln!(out, "apply {}@{} '{data}'", entry.index, entry.term)?;
            }
            for read in &ready.reads {
                writeln!(out, "read {} waits for {}", read.context.sequence, read.index)?;
            }
            if let Some(last) = ready.committed.last() {
                node.applied(last.index);
            }
            messages.extend(ready.messages);
        }
        for message in &messages {
            let (kind, from, to) = (message.get_msg_type(), message.from, message.to);
            writeln!(out, "{from}>{to} {kind:?} term {}", message.term)?;
        }
        self.under_way.extend(messages);
        Ok(())
    }

    fn write(&mut self, command: &Command, out: &mut String) -> Result<()> {
        let id: u64 = command.parse_arg(0)?;
        let Some(persist) = self.node(command)?.take_persist() else {
            writeln!(out, "nothing to write")?;
            return Ok(());
        };
        self.writing.insert(id, persist.number);
        for entry in &persist.entries {
            let data = String::from_utf8_lossy(&entry.data);
            writeln!(out, "entry {}@{} '{data}'", entry.index, entry.term)?;
        }
        if let Some(state) = persist.hard_state {
            let (term, vote, commit) = (state.term, state.vote, state.commit);
            writeln!(out, "hard state: term {term}, vote {vote}, commit {commit}")?;
        }
        Ok(())
    }

    /// Syncs and delivers, without a word, until nobody has anything to say.
    fn settle(&mut self) -> Result<()> {
        let mut quiet = String::new();
        loop {
            for node in self.nodes.values_mut() {
                while let Some(ready) = node.ready() {
                    if let Some(last) = ready.committed.last() {
                        node.applied(last.index);
                    }
                    self.under_way.extend(ready.messages);
                }
                if let Some(persist) = node.take_persist() {
                    node.persisted(persist.number);
                }
            }
            let has_more = self.nodes.values_mut().any(|node| node.has_ready());
            if self.under_way.is_empty() && !has_more {
                return Ok(());
            }
            self.deliver(&mut quiet)?;
        }
    }

    fn deliver(&mut self, out: &mut String) -> Result<()> {
        for message in std::mem::take(&mut self.under_way) {
            let to = message.to;
            let node = self.nodes.get_mut(&to).with_context(|| format!("no node {to}"))?;
            if let Err(error) = node.step(MemberId(message.from), message) {
                writeln!(out, "{to} refuses: {error}")?;
            }
        }
        Ok(())
    }
}
