//! Streaming calls: the sending half, and the receiving half that yields messages.

use std::marker::PhantomData;

use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{RecvStream, SendStream};
use prost::Message;

use crate::conn::{check_head, check_trailers};
use crate::frame::{self, Decoder};
use crate::status::{Code, Status};

/// The sending half of a streaming call.
#[derive(Debug)]
pub struct Sender<Q> {
    body: SendStream<Bytes>,
    kind: PhantomData<fn(Q)>,
}

impl<Q: Message> Sender<Q> {
    pub(crate) fn new(body: SendStream<Bytes>) -> Sender<Q> {
        Sender { body, kind: PhantomData }
    }

    /// Queues one message; flow control decides when it leaves.
    pub fn send(&mut self, message: &Q) -> Result<(), Status> {
        self.send_framed(frame::encode(message))
    }

    /// Queues one message that is framed already.
    pub fn send_framed(&mut self, framed: Bytes) -> Result<(), Status> {
        self.body.send_data(framed, false).map_err(|error| Status::from_h2(&error))
    }

    /// Ends this half; the server may go on answering.
    pub fn close(&mut self) -> Result<(), Status> {
        self.body.send_data(Bytes::new(), true).map_err(|error| Status::from_h2(&error))
    }
}

/// The receiving half of a streaming call.
#[derive(Debug)]
pub struct Streaming<A> {
    state: State,
    decoder: Decoder,
    receive_bytes_max: usize,
    kind: PhantomData<fn() -> A>,
}

#[derive(Debug)]
enum State {
    Head(ResponseFuture),
    Body(RecvStream),
    Ended,
}

impl<A: Message + Default> Streaming<A> {
    pub(crate) fn new(response: ResponseFuture, receive_bytes_max: usize) -> Streaming<A> {
        Streaming {
            state: State::Head(response),
            decoder: Decoder::default(),
            receive_bytes_max,
            kind: PhantomData,
        }
    }

    /// The next message; `None` after the server ended the call with success. Nothing is lost
    /// where the future is dropped before it is ready.
    pub async fn next(&mut self) -> Option<Result<A, Status>> {
        match self.next_raw().await? {
            Ok(bytes) => Some(A::decode(bytes).map_err(|error| {
                self.state = State::Ended;
                Status::new(Code::INTERNAL, format!("malformed answer: {error}"))
            })),
            Err(status) => Some(Err(status)),
        }
    }

    /// As [`Streaming::next`], without decoding.
    pub async fn next_raw(&mut self) -> Option<Result<Bytes, Status>> {
        let next = self.advance().await;
        if !matches!(next, Some(Ok(_))) {
            self.state = State::Ended;
        }
        next
    }

    async fn advance(&mut self) -> Option<Result<Bytes, Status>> {
        loop {
            match self.decoder.take(self.receive_bytes_max) {
                Ok(None) => {}
                taken => return taken.transpose(),
            }
            match &mut self.state {
                State::Head(response) => match response.await {
                    Err(error) => return Some(Err(Status::from_h2(&error))),
                    Ok(response) => {
                        if let Err(status) = check_head(&response) {
                            return Some(Err(status));
                        }
                        self.state = State::Body(response.into_body());
                    }
                },
                State::Body(body) => match body.data().await {
                    Some(Ok(chunk)) => {
                        // The window was granted for exactly these bytes.
                        let _ = body.flow_control().release_capacity(chunk.len());
                        self.decoder.push(&chunk);
                    }
                    Some(Err(error)) => return Some(Err(Status::from_h2(&error))),
                    None => return end_of(body).await,
                },
                State::Ended => return None,
            }
        }
    }
}

async fn end_of(body: &mut RecvStream) -> Option<Result<Bytes, Status>> {
    match body.trailers().await {
        Err(error) => Some(Err(Status::from_h2(&error))),
        Ok(trailers) => check_trailers(trailers.as_ref()).err().map(Err),
    }
}
