//! Boxes around the lists of members and endpoints.

use super::{Answer, unsupported};
use crate::Failure;
use crate::text::number::human_bytes;

pub(super) fn print(answer: &Answer<'_>, out: &mut Vec<u8>) -> Result<(), Failure> {
    let rows = rows(answer).ok_or_else(|| unsupported("table"))?;
    let header: Vec<String> =
        header(answer).iter().map(|title| title.replace('_', " ").to_uppercase()).collect();
    let widths: Vec<usize> = (0..header.len())
        .map(|column| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([header[column].len()]).max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    text += &rule(&widths, ["┌", "┬", "┐"]);
    let centered: Vec<String> =
        header.iter().zip(&widths).map(|(cell, width)| format!("{cell:^width$}")).collect();
    text += &format!("│ {} │\n", centered.join(" │ "));
    text += &rule(&widths, ["├", "┼", "┤"]);
    for row in &rows {
        let right: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        text += &format!("│ {} │\n", right.join(" │ "));
    }
    text += &rule(&widths, ["└", "┴", "┘"]);
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

fn rule(widths: &[usize], [left, middle, right]: [&str; 3]) -> String {
    let dashes: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
    format!("{left}{}{right}\n", dashes.join(middle))
}

fn header(answer: &Answer<'_>) -> &'static [&'static str] {
    match answer {
        Answer::Members(_) => &["ID", "Status", "Name", "Peer Addrs", "Client Addrs", "Is Learner"],
        Answer::Health(_) => &["endpoint", "health", "took", "error"],
        Answer::Status(_) => &[
            "endpoint",
            "ID",
            "version",
            "storage version",
            "db size",
            "in use",
            "percentage not in use",
            "quota",
            "is leader",
            "is learner",
            "raft term",
            "raft index",
            "raft applied index",
            "errors",
            "downgrade target version",
            "downgrade enabled",
        ],
        Answer::HashKv(_) => &["endpoint", "hash", "hash_revision"],
        _ => &[],
    }
}

/// The cells of a list; `None` where the answer is none.
pub(super) fn rows(answer: &Answer<'_>) -> Option<Vec<Vec<String>>> {
    Some(match answer {
        Answer::Members(answer) => answer
            .members
            .iter()
            .map(|member| {
                let status = if member.name.is_empty() { "unstarted" } else { "started" };
                vec![
                    format!("{:x}", member.id),
                    status.to_owned(),
                    member.name.clone(),
                    member.peer_ur_ls.join(","),
                    member.client_ur_ls.join(","),
                    member.is_learner.to_string(),
                ]
            })
            .collect(),
        Answer::Health(list) => list
            .iter()
            .map(|health| {
                let is_healthy = health.error.is_empty().to_string();
                vec![health.endpoint.clone(), is_healthy, health.took.clone(), health.error.clone()]
            })
            .collect(),
        Answer::Status(list) => list.iter().map(status_row).collect(),
        Answer::HashKv(list) => list
            .iter()
            .map(|(endpoint, answer)| {
                vec![endpoint.clone(), answer.hash.to_string(), answer.hash_revision.to_string()]
            })
            .collect(),
        _ => return None,
    })
}

fn status_row((endpoint, answer): &(String, proto::etcdserverpb::StatusResponse)) -> Vec<String> {
    let member = answer.header.unwrap_or_default().member_id;
    let downgrade = answer.downgrade_info.clone().unwrap_or_default();
    let used = (answer.db_size_in_use * 100).checked_div(answer.db_size).unwrap_or(100);
    let size = |bytes: i64| human_bytes(bytes.unsigned_abs());
    vec![
        endpoint.clone(),
        format!("{member:x}"),
        answer.version.clone(),
        answer.storage_version.clone(),
        size(answer.db_size),
        size(answer.db_size_in_use),
        format!("{}%", 100 - used),
        size(answer.db_size_quota),
        (answer.leader == member).to_string(),
        answer.is_learner.to_string(),
        answer.raft_term.to_string(),
        answer.raft_index.to_string(),
        answer.raft_applied_index.to_string(),
        answer.errors.join(", "),
        downgrade.target_version,
        downgrade.enabled.to_string(),
    ]
}
