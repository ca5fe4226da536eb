//! The bytes of the message, as they came. Lease answers shrink to their header, as etcdctl
//! prints them.

use prost::Message;
use proto::etcdserverpb::ResponseHeader;

use super::{Answer, unsupported};
use crate::Failure;

pub(super) fn print(answer: &Answer<'_>, out: &mut Vec<u8>) -> Result<(), Failure> {
    let header = |header: &Option<ResponseHeader>| header.unwrap_or_default().encode_to_vec();
    *out = match answer {
        Answer::Range(answer) => answer.encode_to_vec(),
        Answer::Put(answer) => answer.encode_to_vec(),
        Answer::Delete(answer) => answer.encode_to_vec(),
        Answer::Txn(answer) => answer.encode_to_vec(),
        Answer::Members(answer) => answer.encode_to_vec(),
        Answer::Alarms(answer) => answer.encode_to_vec(),
        Answer::Grant(answer) => header(&answer.header),
        Answer::KeepAlive(answer) => header(&answer.header),
        Answer::TimeToLive(answer, _) => header(&answer.header),
        Answer::Leases(answer) => header(&answer.header),
        Answer::Watch(answer) => {
            let mut answer = (*answer).clone();
            answer.watch_id = 0;
            answer.cancel_reason = String::new();
            answer.fragment = false;
            answer.encode_to_vec()
        }
        Answer::Revoke(..) => {
            let text = "marshal unsupported for type *clientv3.LeaseRevokeResponse";
            return Err(Failure::new(Failure::BAD_FEATURE, text));
        }
        Answer::Health(_) | Answer::Status(_) | Answer::HashKv(_) => {
            return Err(unsupported("protobuf"));
        }
    };
    Ok(())
}
