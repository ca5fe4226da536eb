//! `etcdserverpb.Watch`: one stream, many watchers.

use proto::etcdserverpb::watch_request::RequestUnion;
use proto::etcdserverpb::{
    WatchCancelRequest, WatchCreateRequest, WatchProgressRequest, WatchRequest, WatchResponse,
};

use crate::{Call, Client, Sender, Status, Streaming};

/// A watch stream. Which watchers exist and where they stand is the caller's to know.
#[derive(Debug)]
pub struct WatchStream {
    requests: Sender<WatchRequest>,
    answers: Streaming<WatchResponse>,
}

impl Client {
    /// Opens a watch stream.
    pub async fn watch(&self, call: &Call) -> Result<WatchStream, Status> {
        let (requests, answers) = self.bidi("/etcdserverpb.Watch/Watch", call).await?;
        Ok(WatchStream { requests, answers })
    }
}

impl WatchStream {
    /// Asks for a watcher.
    pub fn create(&mut self, create: WatchCreateRequest) -> Result<(), Status> {
        self.send(RequestUnion::CreateRequest(create))
    }

    /// Ends a watcher.
    pub fn cancel(&mut self, watch_id: i64) -> Result<(), Status> {
        self.send(RequestUnion::CancelRequest(WatchCancelRequest { watch_id }))
    }

    /// Asks for the revision up to which all watchers have been served.
    pub fn progress(&mut self) -> Result<(), Status> {
        self.send(RequestUnion::ProgressRequest(WatchProgressRequest {}))
    }

    /// Ends the requests; answers may still come.
    pub fn close(&mut self) -> Result<(), Status> {
        self.requests.close()
    }

    fn send(&mut self, union: RequestUnion) -> Result<(), Status> {
        self.requests.send(&WatchRequest { request_union: Some(union) })
    }

    /// The next answer. Nothing is lost where the future is dropped before it is ready.
    pub async fn next(&mut self) -> Option<Result<WatchResponse, Status>> {
        self.answers.next().await
    }

    /// The two halves, for a caller that uses them from two tasks.
    pub fn split(self) -> (Sender<WatchRequest>, Streaming<WatchResponse>) {
        (self.requests, self.answers)
    }
}
