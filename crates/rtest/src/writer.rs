//! A writer: puts, deletes, compare-and-put transactions, puts with leases, grants, revocations.

use crate::dice::Dice;
use crate::recorder::{Change, Recorder};
use client::{Call, Client, Code, Status};
use proto::etcdserverpb::{
    Compare, DeleteRangeRequest, LeaseTimeToLiveRequest, PutRequest, RequestOp, TxnRequest,
    compare, request_op,
};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// Keys of one writer.
const KEYS: u64 = 12;
/// Leases that one writer keeps at most, and a TTL that outlasts every run.
const LEASES_MAX: usize = 20;
const LEASE_TTL: i64 = 100_000;

/// One writer with its own keys.
pub struct Writer {
    /// Its number, part of its keys' names.
    pub number: u64,
    /// Where to write.
    pub client: Client,
    /// What it was told.
    pub recorder: Rc<RefCell<Recorder>>,
    /// Raised to end it.
    pub stop: Rc<Cell<bool>>,
    /// Its choices.
    pub dice: Dice,
    /// Keys whose state is not known any more: they are never written again, others stand in.
    pub retired: Retired,
}

/// How often each of a writer's keys was given up.
pub type GivenUp = BTreeMap<u64, u64>;

/// What a writer gave up; `None` for one that ends at its first failure.
pub type Retired = Option<GivenUp>;

/// Pause of a writer that goes on after a failure.
const PAUSE: Duration = Duration::from_millis(20);

impl Writer {
    /// Writes until told to stop or until the server is gone; gives what it retired.
    pub async fn run(mut self) -> Retired {
        let mut leases = Vec::new();
        while !self.stop.get() {
            let result = match self.dice.below(100) {
                // An unanswered put that is carried out later must not tie its key to a lease.
                0..50 if self.retired.is_some() => self.put(None).await,
                0..50 => self.put(leases.last().copied()).await,
                50..70 => self.delete().await,
                70..92 => self.compare_and_put().await,
                92..97 => self.grant(&mut leases).await,
                _ => self.revoke(&mut leases).await,
            };
            if let Err(status) = result {
                if status.code != Code::UNAVAILABLE
                    && status.code != Code::DEADLINE_EXCEEDED
                    && !self.stop.get()
                {
                    let text = format!("writer {}: {status:?}", self.number);
                    self.recorder.borrow_mut().violations.push(text);
                }
                self.retired.as_ref()?;
                crate::wait::pause(PAUSE).await;
            }
        }
        self.retired
    }

    fn call(&self) -> Call {
        Call { timeout: Some(Duration::from_secs(5)), ..Call::default() }
    }

    fn key(&mut self) -> String {
        let place = self.dice.below(KEYS);
        let given_up = self.retired.as_ref().and_then(|retired| retired.get(&place));
        let generation = given_up.map_or(String::new(), |count| format!(".{count}"));
        format!("w/{}/{place}{generation}", self.number)
    }

    /// The key's state is not known any more.
    fn retire(&mut self, key: &str) {
        let place = key.rsplit('/').next().and_then(|last| last.split('.').next()?.parse().ok());
        if let (Some(retired), Some(place)) = (&mut self.retired, place) {
            *retired.entry(place).or_default() += 1;
        }
    }

    /// A value that no other write has.
    fn value(&mut self) -> String {
        let size = if self.dice.chance(5) { 8_000 } else { self.dice.below(200) };
        let filling = "x".repeat(usize::try_from(size).unwrap_or(0));
        format!("{:016x}{filling}", self.dice.draw())
    }

    async fn put(&mut self, lease: Option<i64>) -> Result<(), Status> {
        let (key, value) = (self.key(), self.value());
        let request = PutRequest {
            key: key.clone().into(),
            value: value.clone().into(),
            lease: lease.filter(|_| self.dice.chance(30)).unwrap_or(0),
            ..PutRequest::default()
        };
        let answer = self.client.put(&request, &self.call()).await;
        let revision = answer.map(|a| a.header.unwrap_or_default().revision);
        self.keep(key, Some(value), revision)
    }

    async fn delete(&mut self) -> Result<(), Status> {
        let key = self.key();
        let request = DeleteRangeRequest { key: key.clone().into(), ..Default::default() };
        match self.client.delete_range(&request, &self.call()).await {
            // Nothing was there: nothing changed.
            Ok(answer) if answer.deleted == 0 => {
                let mut recorder = self.recorder.borrow_mut();
                let known = recorder.keys.get(&key).is_some_and(|key| key.known.is_some());
                if known {
                    recorder.violations.push(format!("{key} was not there to delete"));
                }
                Ok(())
            }
            answer => {
                let revision = answer.map(|a| a.header.unwrap_or_default().revision);
                self.keep(key, None, revision)
            }
        }
    }

    /// Puts if the key is as this writer knows it: the compare must hold.
    async fn compare_and_put(&mut self) -> Result<(), Status> {
        let (key, value) = (self.key(), self.value());
        let known = self.recorder.borrow().keys.get(&key).and_then(|key| key.known.clone());
        let revision = known.map_or(0, |(_, revision)| revision);
        let request = TxnRequest {
            compare: vec![Compare {
                result: compare::CompareResult::Equal.into(),
                target: compare::CompareTarget::Mod.into(),
                key: key.clone().into(),
                target_union: Some(compare::TargetUnion::ModRevision(revision)),
                ..Compare::default()
            }],
            success: vec![RequestOp {
                request: Some(request_op::Request::RequestPut(PutRequest {
                    key: key.clone().into(),
                    value: value.clone().into(),
                    ..PutRequest::default()
                })),
            }],
            failure: vec![],
        };
        match self.client.txn(&request, &self.call()).await {
            Ok(answer) if !answer.succeeded => {
                let text = format!("{key} is not at revision {revision} any more");
                self.recorder.borrow_mut().violations.push(text);
                Ok(())
            }
            answer => {
                let revision = answer.map(|a| a.header.unwrap_or_default().revision);
                self.keep(key, Some(value), revision)
            }
        }
    }

    async fn grant(&mut self, leases: &mut Vec<i64>) -> Result<(), Status> {
        if LEASES_MAX <= leases.len() {
            return Ok(());
        }
        let id = i64::try_from(self.dice.draw() >> 2).unwrap_or(1) | 1;
        self.recorder.borrow_mut().leases_maybe.insert(id);
        self.client.lease_grant(id, LEASE_TTL, &self.call()).await?;
        let mut recorder = self.recorder.borrow_mut();
        recorder.acknowledged += 1;
        recorder.leases_maybe.remove(&id);
        recorder.leases.insert(id);
        drop(recorder);
        leases.push(id);
        Ok(())
    }

    /// Revokes a lease that no key is attached to any more: other keys must not change unseen.
    async fn revoke(&mut self, leases: &mut Vec<i64>) -> Result<(), Status> {
        if leases.len() < 2 {
            return Ok(());
        }
        let id = leases[0];
        let request = LeaseTimeToLiveRequest { id, keys: true };
        let answer = self.client.lease_time_to_live(&request, &self.call()).await?;
        if !answer.keys.is_empty() {
            return Ok(());
        }
        leases.remove(0);
        self.recorder.borrow_mut().leases_maybe.insert(id);
        self.client.lease_revoke(id, &self.call()).await?;
        let mut recorder = self.recorder.borrow_mut();
        recorder.acknowledged += 1;
        recorder.leases_maybe.remove(&id);
        recorder.leases.remove(&id);
        Ok(())
    }

    /// Records the outcome of one write; an error without an outcome is passed on.
    fn keep(
        &mut self,
        key: String,
        value: Option<String>,
        revision: Result<i64, Status>,
    ) -> Result<(), Status> {
        let mut recorder = self.recorder.borrow_mut();
        match revision {
            Ok(revision) => {
                recorder.acknowledge(Change { revision, key, value });
                Ok(())
            }
            Err(status) => {
                recorder.lose(&key, value);
                drop(recorder);
                self.retire(&key);
                Err(status)
            }
        }
    }
}
