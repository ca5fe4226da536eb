//! Start, the active segment: its last job may be cut, everything else must be whole.
//!
//! ```text
//! active: | header | job 7 | job 8 | job 9 torn |  zeros ...
//!                                   ^ cut here: nothing of a job 10 lies behind
//! ```
//!
//! Job k+1 is not written before the sync of job k returned, so only the last job may be
//! incomplete after a crash. A valid header of a later job behind a bad place therefore means
//! damage. The log still covers the last job: it is trimmed up to the last but one.

use crate::active::Active;
use crate::config::BLOCK;
use crate::error::{Damage, Error, Result};
use crate::format::{self, Cursor, JOB_HEADER, JobKind, to_u64, to_usize};
use crate::job::{Delta, Meta};
use crate::manifest::Manifest;
use crate::scan::{self, Step, Walk};
use crate::state;
use crate::tables;

/// Bytes that a start reads at a time where it does not walk.
const PIECE: u64 = 512 * 1024;

/// An incomplete last job that was cut off; the log has its entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The file.
    pub file: String,
    /// Where the job began.
    pub offset: u64,
    /// What was wrong with it.
    pub reason: String,
}

/// What the jobs of the active segment add up to.
pub(crate) struct Replayed {
    pub(crate) meta: Meta,
    pub(crate) deltas: Vec<Delta>,
    /// Where the last job begins, if there is one.
    pub(crate) last_job: Option<u64>,
    pub(crate) cut: Option<Cut>,
}

/// Walks the jobs of the active segment and stops at the last whole one.
pub(crate) fn replay(active: &mut Active, manifest: &Manifest) -> Result<Replayed> {
    let mut replayed =
        Replayed { meta: manifest.meta.clone(), deltas: Vec::new(), last_job: None, cut: None };
    let before = active.last.take();
    let mut walk = Walk::new(active.segment.clone(), active.allocated);
    walk.last = before;
    let error = loop {
        let start = walk.position();
        if start == active.allocated || blank(active, start)? {
            return Ok(replayed);
        }
        match replay_job(active, &mut walk, manifest.job + active.jobs + 1) {
            Ok((meta, deltas)) => {
                active.end = walk.position();
                active.jobs += 1;
                active.total = walk.total;
                active.last = if walk.last == before { None } else { walk.last };
                replayed.meta = meta;
                replayed.deltas.extend(deltas);
                replayed.last_job = Some(start);
            }
            Err(Error::Damage(damage)) => break damage,
            Err(error) => return Err(error),
        }
    };
    active.spans.truncate(spans_before(active));
    if active.last.is_none() {
        active.first = None;
    }
    replayed.cut = cut_tail(active, manifest.job + active.jobs + 1, error)?;
    Ok(replayed)
}

/// One job: its records go to the index of `active`, its state is returned.
fn replay_job(active: &mut Active, walk: &mut Walk, number: u64) -> Result<(Meta, Vec<Delta>)> {
    let start = walk.position();
    let what = "the state in a commit frame cannot be parsed";
    active.spans.close();
    loop {
        match walk.step()? {
            Step::Job | Step::End => {}
            Step::Record(offset, record) => {
                let frame = format::record_frame_len(record.kv);
                active.spans.add(record.revision, offset, frame);
                active.first.get_or_insert(record.revision);
            }
            Step::Commit(header, payload) => {
                let mut cursor = Cursor(payload);
                let meta = state::decode_meta(&mut cursor);
                let deltas = tables::decode(&mut cursor);
                let damage = |what| active.segment.damage(start, None, what);
                let meta = meta.ok_or_else(|| damage(what))?;
                let deltas = deltas.ok_or_else(|| damage(what))?;
                if header.number != number || header.kind != JobKind::Flush {
                    return Err(damage("a job has the wrong number").into());
                }
                active.spans.close();
                return Ok((meta, deltas));
            }
        }
    }
}

/// Spans of whole jobs.
fn spans_before(active: &Active) -> usize {
    let spans = active.spans.spans();
    spans.partition_point(|span| u64::from(span.offset) < active.end)
}

/// True if nothing but zeros follows: no job was begun.
fn blank(active: &Active, start: u64) -> Result<bool> {
    let mut piece = vec![0; to_usize(PIECE)];
    for at in (start..active.allocated).step_by(to_usize(PIECE)) {
        piece.resize(to_usize(PIECE.min(active.allocated - at)), 0);
        active.segment.file.read_at(&mut piece, at)?;
        if piece.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// True if a flush job with a number from `number` on begins in a block from `start` on.
fn later_job(active: &Active, start: u64, number: u64) -> Result<bool> {
    let mut at = start;
    let mut head = [0; JOB_HEADER];
    while at + to_u64(JOB_HEADER) <= active.allocated {
        active.segment.file.read_at(&mut head, at)?;
        if scan::flush_number(&head, active.segment.seed).is_some_and(|found| number <= found) {
            return Ok(true);
        }
        at += BLOCK;
    }
    Ok(false)
}

/// Clears what lies behind the last whole job, unless it proves that a later job was written.
fn cut_tail(active: &Active, number: u64, damage: Damage) -> Result<Option<Cut>> {
    if later_job(active, active.end, number + 1)? {
        return Err(damage.into());
    }
    let file = &active.segment.file;
    let mut footer = false;
    for at in (active.end..active.allocated).step_by(to_usize(BLOCK)) {
        let mut block = vec![0; to_usize(BLOCK.min(active.allocated - at))];
        file.read_at(&mut block, at)?;
        footer |= at == active.end && format::is_footer(&block, active.segment.seed);
        if block.iter().any(|byte| *byte != 0) {
            block.fill(0);
            file.write_at(&block, at)?;
        }
    }
    file.sync()?;
    // A footer there is of a seal that was cut short: nothing was lost.
    let (file, offset) = (damage.file.clone(), active.end);
    Ok((!footer).then(|| Cut { file, offset, reason: damage.to_string() }))
}

/// Makes durable what start has read: the last job may be in the page cache only, and after a
/// failed sync its pages may even be clean. Writing the same bytes again is safe at any crash.
pub(crate) fn settle(active: &Active, last_job: Option<u64>) -> Result<()> {
    let Some(start) = last_job else { return Ok(()) };
    let mut at = start;
    while at < active.end {
        let mut bytes = vec![0; to_usize(PIECE.min(active.end - at))];
        active.segment.file.read_at(&mut bytes, at)?;
        active.segment.file.write_at(&bytes, at)?;
        at += to_u64(bytes.len());
    }
    active.segment.file.sync()?;
    Ok(())
}
