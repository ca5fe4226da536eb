//! `get`

use proto::etcdserverpb::range_request::{SortOrder, SortTarget};
use proto::etcdserverpb::{RangeRequest, RangeResponse};

use super::{key_range, open, prefix_or_from_key};
use crate::Failure;
use crate::cli::Invocation;
use crate::printers::{Answer, Format};
use crate::session::{Session, is_serializable};

pub(super) async fn run(invocation: &Invocation) -> Result<(), Failure> {
    let request = request(invocation)?;
    let mut session = open(invocation)?;
    let flags = &invocation.flags;
    let answer = if flags.is_on("stream") {
        stream(&session, &request).await?
    } else {
        session.client.range(&request, &session.call()).await?
    };
    if flags.is_on("count-only") && session.display.format != Format::Fields {
        return Err(Failure::bad_args("--count-only is only for `--write-out=fields`"));
    }
    if flags.is_on("print-value-only") {
        if session.display.format != Format::Simple {
            return Err(Failure::bad_args("print-value-only is only for `--write-out=simple`"));
        }
        session.display.is_value_only = true;
    }
    session.print(&Answer::Range(&answer))
}

async fn stream(session: &Session, request: &RangeRequest) -> Result<RangeResponse, Failure> {
    let mut parts = session.client.range_stream(request, &session.call()).await?;
    let mut whole = RangeResponse::default();
    while let Some(part) = parts.next().await {
        let part = part?.range_response.unwrap_or_default();
        whole.header = part.header.or(whole.header);
        whole.kvs.extend(part.kvs);
        whole.more |= part.more;
        whole.count = whole.count.max(part.count);
    }
    Ok(whole)
}

/// The request that arguments and flags ask for.
pub(super) fn request(invocation: &Invocation) -> Result<RangeRequest, Failure> {
    let flags = &invocation.flags;
    if invocation.args.is_empty() {
        return Err(Failure::bad_args(
            "get command needs one argument as key and an optional argument as range_end",
        ));
    }
    prefix_or_from_key(invocation)?;
    if flags.is_on("keys-only") && flags.is_on("count-only") {
        return Err(Failure::bad_args(
            "`--keys-only` and `--count-only` cannot be set at the same time, choose one",
        ));
    }
    let serializable = is_serializable(flags.text("consistency"))?;
    let (key, range_end) = key_range(invocation)?;
    let sort_target = target(flags.text("sort-by"))?;
    let mut sort_order = order(flags.text("order"))?;
    if sort_target == SortTarget::Key && sort_order == SortOrder::Ascend {
        // Keys come in this order anyway.
        sort_order = SortOrder::None;
    }
    let bounds = |min: &str, max: &str, name: &str| {
        let (low, high) = (flags.int(min).max(0), flags.int(max).max(0));
        if high > 0 && low > high {
            let text = format!("getMin{name}(={low}) > getMax{name}(={high})");
            return Err(Failure::new(Failure::BAD_FEATURE, text));
        }
        Ok((low, high))
    };
    let (min_create, max_create) = bounds("min-create-rev", "max-create-rev", "CreateRev")?;
    let (min_mod, max_mod) = bounds("min-mod-rev", "max-mod-rev", "ModRev")?;
    Ok(RangeRequest {
        key,
        range_end,
        limit: flags.int("limit"),
        revision: flags.int("rev").max(0),
        sort_order: sort_order.into(),
        sort_target: sort_target.into(),
        serializable,
        keys_only: flags.is_on("keys-only"),
        count_only: flags.is_on("count-only"),
        min_mod_revision: min_mod,
        max_mod_revision: max_mod,
        min_create_revision: min_create,
        max_create_revision: max_create,
    })
}

fn order(text: &str) -> Result<SortOrder, Failure> {
    match text.to_uppercase().as_str() {
        "" => Ok(SortOrder::None),
        "ASCEND" => Ok(SortOrder::Ascend),
        "DESCEND" => Ok(SortOrder::Descend),
        _ => Err(Failure::new(Failure::BAD_FEATURE, format!("bad sort order {text}"))),
    }
}

fn target(text: &str) -> Result<SortTarget, Failure> {
    match text.to_uppercase().as_str() {
        "" | "KEY" => Ok(SortTarget::Key),
        "CREATE" => Ok(SortTarget::Create),
        "MODIFY" => Ok(SortTarget::Mod),
        "VALUE" => Ok(SortTarget::Value),
        "VERSION" => Ok(SortTarget::Version),
        _ => Err(Failure::new(Failure::BAD_FEATURE, format!("bad sort target {text}"))),
    }
}
