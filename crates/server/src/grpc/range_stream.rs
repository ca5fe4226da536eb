//! `etcdserverpb.KV/RangeStream`: a range in chunks, all at the revision of the first.

use super::encode::{self, range_response_len};
use super::stream_call::{End, StreamCall, unexpected};
use super::{kv, validate};
use bytes::{BufMut, BytesMut};
use member::{Header, Request, Response};
use proto::wire;
use types::outcome::{Item, RangeOutcome};
use types::{KeyRange, RangeOp};

/// Keys of the first chunk; etcd's constant.
const FIRST_CHUNK_KEYS: i64 = 10;

/// Serves one call.
pub async fn serve(call: &mut StreamCall) -> Result<(), End> {
    let message = call.receive_only().await?;
    let mut op = kv::read(wire::range(&message))?;
    validate::range_stream(&op)?;
    if op.count_only {
        let (header, outcome, _) = read(call, &op).await?;
        let header = Header { revision: outcome.revision, ..header };
        let parts = encode::range_stream(Some(&header), Vec::new(), false, outcome.count);
        return call.send(parts).await;
    }
    let total = if op.limit == 0 { i64::MAX } else { op.limit };
    op.limit = FIRST_CHUNK_KEYS.min(total);
    let mut sent: i64 = 0;
    let mut pinned = None;
    loop {
        let (header, outcome, reader) = read(call, &op).await?;
        let revision = *pinned.get_or_insert(outcome.revision);
        if op.revision == 0 {
            op.revision = revision;
        }
        // The first chunk confirmed the leader; what follows reads the past.
        op.serializable = true;
        let size = range_response_len(&outcome);
        let before = sent;
        sent += i64::try_from(outcome.items.len()).unwrap_or(i64::MAX);
        let done = !outcome.more || sent == total;
        let next = if done { None } else { last_key(&outcome, reader.as_ref(), call).await? };
        let (more, count) = (outcome.more, before + outcome.count);
        let last = Header { revision, ..header };
        let parts = match done {
            true => encode::range_stream(Some(&last), outcome.items, more, count),
            false => encode::range_stream(None, outcome.items, false, 0),
        };
        call.send_with(parts, reader).await?;
        let Some(mut next) = next else { return Ok(()) };
        next.put_u8(0);
        op.range = KeyRange::new(next.freeze(), op.range.end.clone());
        op.limit = next_limit(op.limit, size, call.shell.config.max_request_bytes);
        op.limit = op.limit.min(total - sent);
    }
}

async fn read(
    call: &mut StreamCall,
    op: &RangeOp,
) -> Result<(Header, RangeOutcome, Option<backend::Reader>), End> {
    let answer = call.ask(Request::Range(op.clone()), 0).await;
    match answer.result? {
        Response::Range(outcome) => Ok((answer.header, outcome, answer.reader)),
        other => Err(unexpected(&answer.header, &other).into()),
    }
}

/// The key of the last record, which may have to be read first.
async fn last_key(
    outcome: &RangeOutcome,
    reader: Option<&backend::Reader>,
    call: &StreamCall,
) -> Result<Option<BytesMut>, End> {
    let kv = match outcome.items.last() {
        None => return Ok(None),
        Some(Item::Resident(kv)) => kv.clone(),
        Some(Item::Cold { revision, .. }) => {
            let Some(reader) = reader else { return Ok(None) };
            let slot = call.shell.read_cold(reader, vec![*revision]);
            let records = std::future::poll_fn(|cx| slot.poll(cx)).await;
            records.into_iter().next().unwrap_or_default()
        }
    };
    Ok(Some(BytesMut::from(record_key(&kv))))
}

/// The key of an encoded record: its first field.
fn record_key(mut kv: &[u8]) -> &[u8] {
    let tag = kv.first().copied();
    if tag != Some(1 << 3 | 2) {
        return &[];
    }
    kv = &kv[1..];
    let mut rest = kv;
    match prost::encoding::decode_varint(&mut rest).map(usize::try_from) {
        Ok(Ok(len)) => rest.get(..len).unwrap_or_default(),
        _ => &[],
    }
}

/// Doubles or halves towards chunks of about `target` bytes.
fn next_limit(limit: i64, size: usize, target: usize) -> i64 {
    let next = match size {
        _ if size < target / 2 => limit.saturating_mul(2),
        _ if target * 2 < size => limit / 2,
        _ => limit,
    };
    if next == 0 { 1 } else { next }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    #[test]
    fn chunks_grow_and_shrink_towards_the_target_size() {
        assert_eq!(next_limit(10, 100, 1000), 20);
        assert_eq!(next_limit(10, 500, 1000), 10);
        assert_eq!(next_limit(10, 2000, 1000), 10);
        assert_eq!(next_limit(10, 2001, 1000), 5);
        assert_eq!(next_limit(1, 2001, 1000), 1);
    }

    #[test]
    fn the_key_of_a_record_is_its_first_field() {
        let kv = proto::mvccpb::KeyValue {
            key: vec![b'k'; 300].into(),
            mod_revision: 7,
            ..Default::default()
        };
        assert_eq!(record_key(&kv.encode_to_vec()), &[b'k'; 300][..]);
        assert_eq!(record_key(b""), b"");
        assert_eq!(record_key(&[0x0a, 0xff]), b"");
    }
}
