//! One voter alone, and three in memory: what may leave before which sync.

mod scripts;

use crate::{Config, Node, Persist, Ready, Role, Start, StartError, StepError};
use bytes::Bytes;
use raft::eraftpb::{self, Message, MessageType};
use types::{Index, MemberId, Term};
use wal::{Entry, EntryKind, HardState};

fn start_of(voters: &[u64]) -> Start {
    Start { voters: voters.iter().copied().map(MemberId).collect(), ..Start::default() }
}

fn node(id: u64, voters: &[u64]) -> Node {
    Node::new(Config::new(MemberId(id), 1), &start_of(voters)).unwrap()
}

fn drain(node: &mut Node) -> Ready {
    let mut all = Ready::default();
    while let Some(ready) = node.ready() {
        all.messages.extend(ready.messages);
        all.committed.extend(ready.committed);
        all.reads.extend(ready.reads);
        all.role_changed |= ready.role_changed;
    }
    if let Some(last) = all.committed.last() {
        node.applied(last.index);
    }
    all
}

/// A sole voter that leads and has applied the empty entry of its term.
fn leader() -> Node {
    let mut node = node(1, &[1]);
    node.campaign();
    drain(&mut node);
    let persist = node.take_persist().unwrap();
    node.persisted(persist.number);
    drain(&mut node);
    node
}

fn data(text: &str) -> Vec<Bytes> {
    vec![Bytes::copy_from_slice(text.as_bytes())]
}

fn texts(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| String::from_utf8_lossy(&entry.data).into_owned()).collect()
}

fn entry(index: u64, term: u64) -> Entry {
    let data = Bytes::from(format!("e{index}"));
    Entry { index: Index(index), term: Term(term), kind: EntryKind::Normal, data }
}

#[test]
fn a_sole_voter_leads_at_once_and_persists_its_term_first() {
    let mut node = node(1, &[1]);
    assert!(node.is_sole_voter());
    node.campaign();
    let ready = drain(&mut node);
    assert!(ready.role_changed);
    assert_eq!(node.status().role, Role::Leader);
    assert_eq!(texts(&ready.committed), Vec::<String>::new(), "nothing is durable yet");
    let persist = node.take_persist().unwrap();
    let hard_state = HardState { term: Term(1), vote: MemberId(1), commit: Index(0) };
    assert_eq!(persist.hard_state, Some(hard_state));
    assert_eq!(persist.entries.len(), 1);
    node.persisted(persist.number);
    assert_eq!(drain(&mut node).committed.len(), 1);
}

#[test]
fn an_entry_is_handed_out_only_after_its_own_sync() {
    let mut node = leader();
    node.propose(data("a")).unwrap();
    drain(&mut node);
    let first = node.take_persist().unwrap();
    node.propose(data("b")).unwrap();
    node.propose(data("c")).unwrap();
    assert_eq!(texts(&drain(&mut node).committed), Vec::<String>::new());
    assert_eq!(node.take_persist(), None, "one batch at a time");
    node.persisted(first.number);
    assert_eq!(texts(&drain(&mut node).committed), ["a"]);
    let second = node.take_persist().unwrap();
    assert_eq!(texts(&second.entries), ["b", "c"]);
    node.persisted(second.number);
    assert_eq!(texts(&drain(&mut node).committed), ["b", "c"]);
}

#[test]
fn a_read_is_confirmed_while_a_batch_is_syncing_and_does_not_acknowledge_it() {
    let mut node = leader();
    node.propose(data("a")).unwrap();
    drain(&mut node);
    let persist = node.take_persist().unwrap();
    let context = node.read_index().unwrap();
    let ready = drain(&mut node);
    assert_eq!(ready.reads.len(), 1);
    assert_eq!((ready.reads[0].context, ready.reads[0].index), (context, Index(1)));
    assert_eq!(texts(&ready.committed), Vec::<String>::new());
    node.persisted(persist.number);
    assert_eq!(texts(&drain(&mut node).committed), ["a"]);
}

#[test]
fn no_read_index_is_asked_for_before_the_leader_committed_in_its_term() {
    let mut node = node(1, &[1]);
    assert_eq!(node.read_index(), None);
    node.campaign();
    drain(&mut node);
    assert_eq!(node.read_index(), None);
}

#[test]
fn read_contexts_are_fresh_in_every_attempt_and_every_life() {
    let mut node = leader();
    let (first, second) = (node.read_index().unwrap(), node.read_index().unwrap());
    assert_ne!(first, second);
    let mut config = Config::new(MemberId(1), 2);
    config.seed = 7;
    let start = Start {
        hard_state: HardState { term: Term(1), vote: MemberId(1), commit: Index(1) },
        entries: vec![entry(1, 1)],
        ..start_of(&[1])
    };
    let mut again = Node::new(config, &start).unwrap();
    again.campaign();
    drain(&mut again);
    let persist = again.take_persist().unwrap();
    again.persisted(persist.number);
    drain(&mut again);
    assert_ne!(again.read_index().unwrap().boot, first.boot);
}

#[test]
fn a_commit_index_rides_with_entries_and_is_not_written_alone() {
    let mut node = leader();
    assert_eq!(node.take_persist(), None);
    node.propose(data("a")).unwrap();
    drain(&mut node);
    let persist = node.take_persist().unwrap();
    assert_eq!(persist.hard_state.map(|it| it.commit), Some(Index(1)));
}

#[test]
fn a_restarted_node_hands_out_what_was_committed_but_not_applied() {
    let start = Start {
        hard_state: HardState { term: Term(2), vote: MemberId(1), commit: Index(2) },
        entries: vec![entry(1, 1), entry(2, 2), entry(3, 2)],
        applied: Index(1),
        applied_term: Term(1),
        ..start_of(&[1])
    };
    let mut node = Node::new(Config::new(MemberId(1), 2), &start).unwrap();
    assert_eq!(texts(&drain(&mut node).committed), ["e2"]);
    node.campaign();
    drain(&mut node);
    let persist = node.take_persist().unwrap();
    node.persisted(persist.number);
    let committed = drain(&mut node).committed;
    assert_eq!(texts(&committed), ["e3", ""]);
    assert_eq!(committed[1].term, Term(3));
}

#[test]
fn a_log_that_does_not_fit_the_data_is_refused() {
    let refused = |start: Start| {
        Node::new(Config::new(MemberId(1), 2), &start).err().expect("must be refused")
    };
    let base = || start_of(&[1]);
    let at = |index, term| (Index(index), Term(term));
    let mut start = Start { entries: vec![entry(1, 1)], ..base() };
    (start.applied, start.applied_term) = at(2, 1);
    assert_eq!(refused(start), StartError::AppliedBeyondLog { applied: Index(2), last: Index(1) });
    let mut start = base();
    (start.applied, start.applied_term) = at(2, 1);
    assert_eq!(refused(start), StartError::AppliedBeyondLog { applied: Index(2), last: Index(0) });
    let mut start = Start { base: Index(4), entries: vec![entry(5, 1)], ..base() };
    (start.applied, start.applied_term) = at(3, 1);
    assert_eq!(refused(start), StartError::Gap { applied: Index(3), first: Index(5) });
    let start = Start { entries: vec![entry(1, 1), entry(3, 1)], ..base() };
    assert_eq!(refused(start), StartError::Disorder { before: Index(1), after: Index(3) });
    let mut start = Start { entries: vec![entry(1, 1)], ..base() };
    start.hard_state.commit = Index(4);
    assert_eq!(refused(start), StartError::CommitBeyondLog { commit: Index(4), last: Index(1) });
    let mut start = Start { entries: vec![entry(1, 1), entry(2, 1)], ..base() };
    (start.applied, start.applied_term) = at(1, 9);
    assert_eq!(
        refused(start),
        StartError::TermMismatch { applied: Index(1), data: Term(9), log: Term(1) }
    );
}

#[test]
fn election_timeouts_follow_from_seed_member_and_term() {
    let ticks_to_campaign = |seed: u64| {
        let mut config = Config::new(MemberId(1), 1);
        config.seed = seed;
        let mut node = Node::new(config, &start_of(&[1, 2, 3])).unwrap();
        (1..).find(|_| {
            node.tick();
            node.status().role != Role::Follower
        })
    };
    let all: Vec<_> = (0..50).map(ticks_to_campaign).collect();
    assert_eq!(all, (0..50).map(ticks_to_campaign).collect::<Vec<_>>());
    assert!(all.iter().all(|ticks| ticks.is_some_and(|ticks| (10..20).contains(&ticks))));
    assert!(all.iter().collect::<std::collections::BTreeSet<_>>().len() > 5);
}

/// Delivers until nothing moves; every batch is synced at once.
fn settle(nodes: &mut [Node]) -> Vec<Vec<Entry>> {
    settle_through(nodes, |message| message)
}

fn settle_through(nodes: &mut [Node], mut way: impl FnMut(Message) -> Message) -> Vec<Vec<Entry>> {
    let mut applied = vec![Vec::new(); nodes.len()];
    loop {
        let mut moved = Vec::new();
        let mut busy = false;
        for (at, node) in nodes.iter_mut().enumerate() {
            let ready = drain(node);
            moved.extend(ready.messages);
            applied[at].extend(ready.committed);
            if let Some(Persist { number, .. }) = node.take_persist() {
                node.persisted(number);
                busy = true;
            }
        }
        busy |= !moved.is_empty();
        for message in moved {
            let to = usize::try_from(message.to - 1).unwrap();
            nodes[to].step(MemberId(message.from), way(message)).unwrap();
        }
        if !busy {
            return applied;
        }
    }
}

#[test]
fn three_nodes_elect_a_leader_and_apply_the_same_entries() {
    let mut nodes: Vec<Node> = (1..=3).map(|id| node(id, &[1, 2, 3])).collect();
    nodes[0].campaign();
    settle(&mut nodes);
    assert_eq!(nodes[0].status().role, Role::Leader);
    nodes[0].propose(data("x")).unwrap();
    let applied = settle(&mut nodes);
    nodes[0].tick();
    let later = settle(&mut nodes);
    for (first, then) in applied.iter().zip(&later) {
        let all: Vec<Entry> = first.iter().chain(then).cloned().collect();
        assert_eq!(texts(&all), ["x"]);
    }
}

#[test]
fn a_vote_leaves_only_after_its_own_sync() {
    let mut voter = node(2, &[1, 2, 3]);
    let mut ask = Message::default();
    ask.set_msg_type(MessageType::MsgRequestVote);
    (ask.from, ask.to, ask.term) = (1, 2, 5);
    voter.step(MemberId(1), ask).unwrap();
    assert_eq!(drain(&mut voter).messages.len(), 0);
    let persist = voter.take_persist().unwrap();
    assert_eq!(persist.hard_state.map(|it| (it.term, it.vote)), Some((Term(5), MemberId(1))));
    voter.persisted(persist.number);
    let messages = drain(&mut voter).messages;
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].get_msg_type(), MessageType::MsgRequestVoteResponse);
}

fn message(kind: MessageType, term: u64) -> Message {
    let mut message = Message { from: 1, to: 2, term, ..Message::default() };
    message.set_msg_type(kind);
    message
}

#[test]
fn messages_that_raft_would_abort_on_are_refused() {
    let mut follower = node(2, &[1, 2, 3]);
    let mut refused = |message: Message| follower.step(MemberId(1), message).unwrap_err();
    let mut beat = message(MessageType::MsgHeartbeat, 5);
    beat.commit = 9;
    let lost = StepError::LogLost { commit: Index(9), last: Index(0) };
    assert_eq!(refused(beat), lost);
    let ask = message(MessageType::MsgReadIndex, 0);
    assert_eq!(refused(ask), StepError::Malformed("not one context"));
    assert_eq!(refused(message(MessageType::MsgHup, 5)), StepError::Local);
    let mut append = message(MessageType::MsgAppend, 5);
    let gap = eraftpb::Entry { index: 3, term: 5, ..eraftpb::Entry::default() };
    append.set_entries(vec![gap].into());
    assert_eq!(refused(append), StepError::Malformed("entries out of order"));
    let stranger = Message { from: 3, ..message(MessageType::MsgHeartbeat, 5) };
    assert!(matches!(refused(stranger), StepError::Malformed(_)), "it came from member 1");
}

/// A follower of term 1 with three entries, two of them committed.
fn follower() -> Node {
    let start = Start {
        hard_state: HardState { term: Term(1), vote: MemberId(1), commit: Index(2) },
        entries: vec![entry(1, 1), entry(2, 1), entry(3, 1)],
        ..start_of(&[1, 2, 3])
    };
    Node::new(Config::new(MemberId(2), 2), &start).unwrap()
}

#[test]
fn whatever_a_peer_sends_a_node_goes_on() {
    let kinds = [
        MessageType::MsgAppend,
        MessageType::MsgAppendResponse,
        MessageType::MsgRequestVote,
        MessageType::MsgRequestVoteResponse,
        MessageType::MsgHeartbeat,
        MessageType::MsgHeartbeatResponse,
        MessageType::MsgTimeoutNow,
        MessageType::MsgReadIndex,
        MessageType::MsgReadIndexResp,
        MessageType::MsgRequestPreVote,
        MessageType::MsgRequestPreVoteResponse,
        MessageType::MsgTransferLeader,
        MessageType::MsgSnapshot,
        MessageType::MsgPropose,
    ];
    let mut state = 7u64;
    let mut draw = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let value = (state >> 33) % (below + 1);
        if value == below { u64::MAX - (state >> 60) } else { value }
    };
    let mut stepped = 0;
    for _ in 0..400 {
        let mut node = follower();
        for _ in 0..60 {
            let kind = kinds[usize::try_from(draw(1 << 20) % 14).unwrap()];
            let mut message = message(kind, draw(5));
            (message.index, message.log_term) = (draw(6), draw(4));
            (message.commit, message.commit_term) = (draw(6), draw(4));
            message.reject = draw(1 << 20) % 3 == 0;
            message.reject_hint = draw(6);
            let (first, term) = (message.index, message.log_term);
            let entries = (0..draw(1 << 20) % 3).map(|at| eraftpb::Entry {
                index: first.wrapping_add(1 + at),
                term: term.max(1),
                ..eraftpb::Entry::default()
            });
            let entries: Vec<eraftpb::Entry> = entries.collect();
            message.set_entries(entries.into());
            stepped += usize::from(node.step(MemberId(1), message).is_ok());
            if draw(1 << 20) % 2 == 0 {
                node.tick();
            }
            drain(&mut node);
            if let Some(persist) = node.take_persist() {
                node.persisted(persist.number);
                drain(&mut node);
            }
        }
    }
    assert!(2_000 < stepped, "only {stepped} messages were not refused");
}

#[test]
fn messages_survive_the_way() {
    let mut nodes: Vec<Node> = (1..=3).map(|id| node(id, &[1, 2, 3])).collect();
    nodes[0].campaign();
    let mut count = 0;
    settle_through(&mut nodes, |message| {
        count += 1;
        let there = crate::codec::encode(&message).unwrap();
        assert_eq!(crate::codec::decode(there).unwrap(), message);
        message
    });
    assert!(10 < count);
}

fn append(from: u64, term: u64, after: (u64, u64), entries: &[(u64, u64)]) -> Message {
    let entry = |(index, term): &(u64, u64)| {
        let data = Bytes::from(format!("e{index}@{term}"));
        eraftpb::Entry { index: *index, term: *term, data, ..eraftpb::Entry::default() }
    };
    let mut message = Message {
        from,
        to: 2,
        term,
        index: after.0,
        log_term: after.1,
        entries: entries.iter().map(entry).collect::<Vec<_>>().into(),
        ..Message::default()
    };
    message.set_msg_type(MessageType::MsgAppend);
    message
}

#[test]
fn a_new_leaders_entries_replace_what_waits_to_be_written() {
    let mut node = node(2, &[1, 2, 3]);
    node.step(MemberId(1), append(1, 1, (0, 0), &[(1, 1)])).unwrap();
    drain(&mut node);
    let first = node.take_persist().unwrap();
    node.step(MemberId(1), append(1, 1, (1, 1), &[(2, 1), (3, 1), (4, 1)])).unwrap();
    drain(&mut node);
    node.step(MemberId(3), append(3, 2, (2, 1), &[(3, 2)])).unwrap();
    drain(&mut node);
    node.persisted(first.number);
    drain(&mut node);
    let second = node.take_persist().unwrap();
    assert_eq!(texts(&second.entries), ["e2@1", "e3@2"]);
    assert_eq!(second.hard_state.map(|state| state.term), Some(Term(2)));
}
