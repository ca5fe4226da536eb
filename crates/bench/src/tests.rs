//! The parts of the measurement that can be wrong without anybody seeing it.

use std::collections::BTreeSet;

use prost::Message;
use proto::etcdserverpb::{ResponseHeader, TxnRequest, WatchResponse};
use proto::mvccpb::{Event, KeyValue};

use crate::cli::Options;
use crate::load::{Recorder, Source};
use crate::procfs::{field, parse_cpu};
use crate::report::Report;
use crate::requests::{self, Random};
use crate::rows::{ROWS, watch::count_events};
use crate::window::{Measure, side_measure};

#[test]
fn cpu_time_is_user_plus_system_whatever_the_name_of_the_process() {
    let stat = "42 (a) (b c) S 1 2 3 4 5 6 7 8 9 10 150 25 0 0 20 0 9 0 100 1 2";
    assert_eq!(parse_cpu(stat), Some(1_750_000));
    assert_eq!(parse_cpu("42 (a) S 1"), None);
    assert_eq!(parse_cpu(""), None);
}

#[test]
fn a_field_of_proc_is_found_by_its_whole_name() {
    let status = "VmHWM:\t  300 kB\nVmRSS:\t  200 kB\nRssAnon:\t  100 kB\n";
    assert_eq!(field(status, "VmRSS:"), Some(200));
    assert_eq!(field(status, "RssAnon:"), Some(100));
    assert_eq!(field(status, "RssFile:"), None);
}

#[test]
fn events_are_counted_as_a_decoder_counts_them() {
    for count in [0, 1, 3, 100] {
        let event = Event {
            kv: Some(KeyValue {
                key: "k".into(),
                value: vec![0x5a; 300].into(),
                ..KeyValue::default()
            }),
            ..Event::default()
        };
        let answer = WatchResponse {
            header: Some(ResponseHeader { revision: 1 << 40, ..ResponseHeader::default() }),
            watch_id: 99,
            events: vec![event; count],
            ..WatchResponse::default()
        };
        let encoded = answer.encode_to_vec().into();
        assert_eq!(count_events(&encoded), u64::try_from(count).unwrap());
    }
}

#[test]
fn a_count_of_a_cut_message_ends() {
    let full = WatchResponse { events: vec![Event::default(); 3], ..WatchResponse::default() };
    let full = bytes::Bytes::from(full.encode_to_vec());
    for cut in 0..full.len() {
        assert!(count_events(&full.slice(..cut)) <= 3);
    }
}

#[test]
fn random_indexes_reach_every_request() {
    let mut random = Random::new(1);
    let seen: BTreeSet<usize> = (0..2_000).map(|_| random.index(50)).collect();
    assert_eq!(seen.len(), 50);
}

#[test]
fn keys_differ_and_values_have_their_size() {
    let keys: BTreeSet<_> = (0..10_000).map(|number| requests::key("bench", number)).collect();
    assert_eq!(keys.len(), 10_000);
    assert_eq!(requests::value(3, 256).len(), 256);
    assert_ne!(requests::value(3, 256), requests::value(4, 256));
}

#[test]
fn rows_have_names_of_their_own() {
    let names: BTreeSet<_> = ROWS.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), ROWS.len());
}

#[test]
fn a_node_compares_with_the_revision_of_its_last_renewal() {
    let revision = |node: &mut crate::rows::nodes::Node| {
        let framed = node.next();
        let request = TxnRequest::decode(framed.slice(5..)).unwrap();
        request.compare[0].target_union.clone().unwrap()
    };
    use proto::etcdserverpb::compare::TargetUnion::ModRevision;
    let mut node = crate::rows::nodes::Node::new(0);
    assert_eq!(revision(&mut node), ModRevision(0));
    let renewed = proto::etcdserverpb::TxnResponse {
        header: Some(ResponseHeader { revision: 7, ..ResponseHeader::default() }),
        succeeded: true,
        responses: vec![],
    };
    node.answered(renewed.encode_to_vec().into());
    assert_eq!(revision(&mut node), ModRevision(7));
}

#[test]
fn latencies_before_the_window_are_not_reported_but_counted() {
    use std::time::Duration;
    let recorder = Recorder::new();
    recorder.answered(Duration::from_secs(1));
    recorder.begin();
    recorder.answered_many(Duration::from_micros(10), 4);
    let measure = side_measure("line", &recorder, Duration::from_secs(2));
    assert_eq!(measure.ops, 5.0);
    assert_eq!(measure.ops_per_second, 2.0);
    assert_eq!(measure.p999_micros, 10.0);
}

#[test]
fn the_table_shows_medians_and_their_ratio() {
    let options = Options {
        seconds: 20.0,
        rounds: 3,
        keys: 1,
        rate: 0.0,
        dir: ".".into(),
        server_core: 0,
        client_core: 1,
    };
    let servers = ["first".to_owned(), "second".to_owned()];
    let mut report = Report::new(&servers, &options);
    for (server, rates) in [(0, [900.0, 200.0, 300.0]), (1, [600.0, 100.0, 700.0])] {
        for ops_per_second in rates {
            let line = "put".to_owned();
            report.add(server, Measure { line, ops_per_second, ..Measure::default() });
        }
    }
    let table = report.table();
    let rate = |start: &str| {
        let line = table.lines().find(|line| line.starts_with(start)).unwrap();
        line.split_whitespace().nth(2).unwrap().to_owned()
    };
    assert_eq!(rate("put A "), "300");
    assert_eq!(rate("put B "), "600");
    assert_eq!(rate("put A/B"), "0.50x");
}
