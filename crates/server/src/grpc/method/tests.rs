//! Paths and the methods that they name.

use super::*;

fn refused(path: &str) -> String {
    Method::parse(path).unwrap_err().message.into_owned()
}

#[test]
fn every_path_leads_to_its_method() {
    for method in Method::ALL {
        assert_eq!(Method::parse(method.path()), Ok(*method));
    }
    assert_eq!(Method::ALL.len(), 52);
    assert_eq!(Method::HashKv.path(), "/etcdserverpb.Maintenance/HashKV");
}

#[test]
fn unknown_paths_are_refused_in_the_words_of_grpc_go() {
    assert_eq!(
        refused("/etcdserverpb.KV/Nothing"),
        "unknown method Nothing for service etcdserverpb.KV"
    );
    assert_eq!(refused("/some.Service/Method"), "unknown service some.Service");
    assert_eq!(refused("/nothing"), "malformed method name: \"/nothing\"");
}
