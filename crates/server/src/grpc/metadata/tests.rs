//! Request metadata as etcd reads it.

use super::*;
use http::HeaderValue;

fn request(headers: &[(&'static str, &str)]) -> Request<()> {
    let mut request = Request::new(());
    *request.method_mut() = Method::POST;
    *request.uri_mut() = "http://localhost/etcdserverpb.KV/Range".parse().unwrap();
    request.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    request
}

fn refused(headers: &[(&'static str, &str)]) -> (u16, Code, String) {
    let refusal = parse(&request(headers)).unwrap_err();
    (refusal.http, refusal.status.code, refusal.status.message.into_owned())
}

#[test]
fn content_types_of_grpc_are_taken_and_others_refused_with_415() {
    for (good, answer) in [
        ("application/grpc", "application/grpc"),
        ("application/grpc+proto", "application/grpc+proto"),
        ("application/grpc;x=y", "application/grpc+x=y"),
    ] {
        let metadata = parse(&request(&[("content-type", good)])).unwrap();
        assert_eq!(metadata.content_type, answer);
    }
    assert_eq!(
        refused(&[("content-type", "application/json")]),
        (
            415,
            Code::InvalidArgument,
            "invalid gRPC request content-type \"application/json\"".to_string()
        )
    );
}

#[test]
fn timeouts_are_read_in_all_units() {
    for (text, nanos) in [
        ("1H", 3_600_000_000_000u64),
        ("2M", 120_000_000_000),
        ("3S", 3_000_000_000),
        ("4m", 4_000_000),
        ("5u", 5_000),
        ("99999999n", 99_999_999),
    ] {
        let metadata = parse(&request(&[("grpc-timeout", text)])).unwrap();
        assert_eq!(metadata.timeout, Some(Duration::from_nanos(nanos)), "{text}");
    }
}

#[test]
fn malformed_timeouts_are_refused_with_400() {
    for text in ["S", "1X", "123456789S", "+1S", "aS"] {
        let (http, code, message) = refused(&[("grpc-timeout", text)]);
        assert_eq!((http, code), (400, Code::Internal), "{text}");
        assert!(message.starts_with("malformed grpc-timeout: "), "{message}");
    }
}

#[test]
fn a_compressed_request_is_refused_in_the_words_of_grpc_go() {
    assert_eq!(
        refused(&[("grpc-encoding", "snappy")]),
        (
            200,
            Code::Unimplemented,
            "grpc: Decompressor is not installed for grpc-encoding \"snappy\"".to_string()
        )
    );
    assert!(parse(&request(&[("grpc-encoding", "identity")])).is_ok());
}

#[test]
fn an_api_version_that_is_no_utf8_is_refused() {
    let mut bad = request(&[]);
    bad.headers_mut().insert("client-api-version", HeaderValue::from_bytes(&[0xff, 0xfe]).unwrap());
    let refusal = parse(&bad).unwrap_err();
    assert_eq!(refusal.status.message, "etcdserver: invalid client api version");
}

#[test]
fn a_time_that_is_over_at_once_is_a_deadline_exceeded() {
    let (http, code, message) = refused(&[("grpc-timeout", "0S")]);
    assert_eq!((http, code), (200, Code::DeadlineExceeded));
    assert_eq!(message, "context deadline exceeded");
}

#[test]
fn a_request_without_authority_is_refused_with_400() {
    let mut bare = request(&[]);
    *bare.uri_mut() = "/etcdserverpb.KV/Range".parse().unwrap();
    assert_eq!(parse(&bare).unwrap_err().http, 400);
}

#[test]
fn a_binary_header_must_be_base64() {
    assert!(parse(&request(&[("x-some-bin", "AAEC/w==")])).is_ok());
    let (http, code, message) = refused(&[("x-some-bin", "AA!!")]);
    assert_eq!((http, code), (400, Code::Internal));
    assert_eq!(
        message,
        "malformed binary metadata \"AA!!\" in header \"x-some-bin\": \
         illegal base64 data at input byte 2"
    );
}

#[test]
fn only_the_exact_value_asks_for_a_leader() {
    let asks = |value: &str| parse(&request(&[("hasleader", value)])).unwrap().require_leader;
    assert!(asks("true"));
    assert!(!asks("True"));
    assert!(!asks("1"));
}

#[test]
fn a_method_other_than_post_is_refused_with_405() {
    let mut get = request(&[]);
    *get.method_mut() = Method::GET;
    assert_eq!(parse(&get).unwrap_err().http, 405);
}
