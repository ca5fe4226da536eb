//! Answers on standard output, one file per format.

mod fields;
mod json;
mod protobuf;
pub(crate) mod simple;
mod table;

use proto::etcdserverpb::{
    AlarmResponse, DeleteRangeResponse, HashKvResponse, LeaseGrantResponse, LeaseKeepAliveResponse,
    LeaseLeasesResponse, LeaseRevokeResponse, LeaseTimeToLiveResponse, MemberListResponse,
    PutResponse, RangeResponse, StatusResponse, TxnResponse, WatchResponse,
};

use crate::{Failure, say};

/// The health of one endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Health {
    pub(crate) endpoint: String,
    /// As Go writes durations.
    pub(crate) took: String,
    /// Empty where the endpoint is healthy.
    pub(crate) error: String,
}

/// Everything that can be printed.
#[derive(Debug)]
pub(crate) enum Answer<'a> {
    Range(&'a RangeResponse),
    Put(&'a PutResponse),
    Delete(&'a DeleteRangeResponse),
    Txn(&'a TxnResponse),
    Watch(&'a WatchResponse),
    Grant(&'a LeaseGrantResponse),
    Revoke(i64, &'a LeaseRevokeResponse),
    KeepAlive(&'a LeaseKeepAliveResponse),
    /// With whether keys were asked for.
    TimeToLive(&'a LeaseTimeToLiveResponse, bool),
    Leases(&'a LeaseLeasesResponse),
    Members(&'a MemberListResponse),
    Alarms(&'a AlarmResponse),
    Health(&'a [Health]),
    Status(&'a [(String, StatusResponse)]),
    HashKv(&'a [(String, HashKvResponse)]),
}

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Simple,
    Json,
    Fields,
    Table,
    Protobuf,
}

/// How this run prints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Display {
    pub(crate) format: Format,
    /// Keys, values or ids in hex, depending on the format.
    pub(crate) is_hex: bool,
    /// The simple format leaves keys out.
    pub(crate) is_value_only: bool,
}

impl Display {
    /// The display for `--write-out`.
    pub(crate) fn new(format: &str, is_hex: bool) -> Result<Display, Failure> {
        let format = match format {
            "simple" => Format::Simple,
            "json" => Format::Json,
            "fields" => Format::Fields,
            "table" => Format::Table,
            "protobuf" => Format::Protobuf,
            _ => return Err(Failure::new(Failure::BAD_FEATURE, "unsupported output format")),
        };
        Ok(Display { format, is_hex, is_value_only: false })
    }

    /// Prints one answer.
    pub(crate) fn print(&self, answer: &Answer<'_>) -> Result<(), Failure> {
        say(&self.render(answer)?);
        Ok(())
    }

    pub(crate) fn render(&self, answer: &Answer<'_>) -> Result<Vec<u8>, Failure> {
        let mut out = Vec::new();
        match self.format {
            Format::Simple => simple::print(self, answer, &mut out),
            Format::Json => json::print(self, answer, &mut out),
            Format::Fields => fields::print(self, answer, &mut out),
            Format::Table => table::print(answer, &mut out)?,
            Format::Protobuf => protobuf::print(answer, &mut out)?,
        }
        Ok(out)
    }
}

fn unsupported(format: &str) -> Failure {
    Failure::new(Failure::BAD_FEATURE, format!("{format} not supported as output format"))
}
