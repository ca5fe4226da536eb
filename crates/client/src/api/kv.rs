//! `etcdserverpb.KV`.

use bytes::Bytes;
use proto::etcdserverpb::{
    CompactionRequest, CompactionResponse, DeleteRangeRequest, DeleteRangeResponse, PutRequest,
    PutResponse, RangeRequest, RangeResponse, RangeStreamResponse, TxnRequest, TxnResponse,
};

use crate::{Call, Client, Status, Streaming};

impl Client {
    /// Reads a range.
    pub async fn range(
        &self,
        request: &RangeRequest,
        call: &Call,
    ) -> Result<RangeResponse, Status> {
        let call = call.clone().repeatable();
        self.unary("/etcdserverpb.KV/Range", request, &call).await
    }

    /// Reads a range in parts.
    pub async fn range_stream(
        &self,
        request: &RangeRequest,
        call: &Call,
    ) -> Result<Streaming<RangeStreamResponse>, Status> {
        self.server_stream("/etcdserverpb.KV/RangeStream", request, call).await
    }

    /// Writes one key.
    pub async fn put(&self, request: &PutRequest, call: &Call) -> Result<PutResponse, Status> {
        self.unary("/etcdserverpb.KV/Put", request, call).await
    }

    /// Deletes a range.
    pub async fn delete_range(
        &self,
        request: &DeleteRangeRequest,
        call: &Call,
    ) -> Result<DeleteRangeResponse, Status> {
        self.unary("/etcdserverpb.KV/DeleteRange", request, call).await
    }

    /// Runs a transaction.
    pub async fn txn(&self, request: &TxnRequest, call: &Call) -> Result<TxnResponse, Status> {
        self.unary("/etcdserverpb.KV/Txn", request, call).await
    }

    /// Drops the history below a revision.
    pub async fn compact(
        &self,
        request: &CompactionRequest,
        call: &Call,
    ) -> Result<CompactionResponse, Status> {
        self.unary("/etcdserverpb.KV/Compact", request, call).await
    }

    /// The value of one key, with default settings.
    pub async fn get(&self, key: impl Into<Bytes>) -> Result<Option<Bytes>, Status> {
        let request = RangeRequest { key: key.into(), ..RangeRequest::default() };
        let mut answer = self.range(&request, &Call::default()).await?;
        Ok(answer.kvs.pop().map(|kv| kv.value))
    }

    /// Writes one key with default settings; returns the revision.
    pub async fn set(&self, key: impl Into<Bytes>, value: impl Into<Bytes>) -> Result<i64, Status> {
        let request = PutRequest { key: key.into(), value: value.into(), ..PutRequest::default() };
        let answer = self.put(&request, &Call::default()).await?;
        Ok(answer.header.unwrap_or_default().revision)
    }
}
