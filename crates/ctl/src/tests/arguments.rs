//! Commands and flags, as cobra and pflag read them.

use std::ffi::OsString;

use proto::etcdserverpb::compare::{CompareResult, CompareTarget, TargetUnion};

use crate::cli::flags::{self, Error, Flag, Kind, Values};
use crate::cli::tree::ROOT;
use crate::cli::{parse_operation, parse_watch};
use crate::commands::txn::parse_compare;

const FLAGS: [Flag; 4] = [
    Flag::new("write-out", Kind::Text, "").short('w').default("simple"),
    Flag::new("hex", Kind::Switch, "").short('x'),
    Flag::new("limit", Kind::Int, ""),
    Flag::new("endpoints", Kind::List, "").default("a"),
];

fn parse(args: &[&str]) -> Result<(Values, Vec<String>), String> {
    static KNOWN: [Flag; 4] = FLAGS;
    let known: Vec<&'static Flag> = KNOWN.iter().collect();
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    match flags::parse(&known, &args) {
        Ok((values, rest)) => {
            Ok((values, rest.into_iter().map(|arg| arg.into_string().unwrap()).collect()))
        }
        Err(Error::Help) => Err("help".to_owned()),
        Err(Error::Wrong(text)) => Err(text),
    }
}

#[test]
fn flags_stand_anywhere_and_end_at_two_dashes() {
    let (values, rest) = parse(&["k", "-w", "json", "--limit=5", "v", "--", "--hex"]).unwrap();
    assert_eq!(rest, ["k", "v", "--hex"]);
    assert_eq!(values.text("write-out"), "json");
    assert_eq!(values.int("limit"), 5);
    assert!(!values.is_on("hex"));
    assert!(values.is_changed("limit"));
    assert!(!values.is_changed("hex"));
}

#[test]
fn short_flags_may_be_joined_with_each_other_and_with_a_value() {
    for args in [&["-xwjson"][..], &["-xw", "json"], &["-x", "-w=json"]] {
        let (values, _) = parse(args).unwrap();
        assert_eq!(values.text("write-out"), "json", "{args:?}");
        assert!(values.is_on("hex"));
    }
}

#[test]
fn a_switch_takes_a_value_only_behind_an_equals_sign() {
    let (values, rest) = parse(&["--hex", "false"]).unwrap();
    assert!(values.is_on("hex"));
    assert_eq!(rest, ["false"]);
    let (values, _) = parse(&["--hex=F"]).unwrap();
    assert!(!values.is_on("hex"));
}

#[test]
fn lists_replace_their_default_and_then_add_up() {
    assert_eq!(parse(&[]).unwrap().0.list("endpoints"), ["a"]);
    let (values, _) = parse(&["--endpoints", "b, c", "--endpoints=d"]).unwrap();
    assert_eq!(values.list("endpoints"), ["b", "c", "d"]);
}

#[test]
fn wrong_flags_have_the_texts_of_pflag() {
    let wrong = |args: &[&str]| parse(args).map(drop).unwrap_err();
    assert_eq!(wrong(&["--bogus"]), "unknown flag: --bogus");
    assert_eq!(wrong(&["-q"]), "unknown shorthand flag: 'q' in -q");
    assert_eq!(wrong(&["-xq"]), "unknown shorthand flag: 'q' in -xq");
    assert_eq!(wrong(&["--limit"]), "flag needs an argument: --limit");
    assert_eq!(wrong(&["-w"]), "flag needs an argument: 'w' in -w");
    assert_eq!(wrong(&["--=x"]), "bad flag syntax: --=x");
    assert_eq!(
        wrong(&["--limit", "x"]),
        "invalid argument \"x\" for \"--limit\" flag: strconv.ParseInt: parsing \"x\": invalid \
         syntax"
    );
    assert_eq!(
        wrong(&["-x=x"]),
        "invalid argument \"x\" for \"-x, --hex\" flag: strconv.ParseBool: parsing \"x\": \
         invalid syntax"
    );
    assert_eq!(wrong(&["k", "--help"]), "help");
    assert_eq!(wrong(&["-h"]), "help");
}

#[test]
fn commands_may_be_cut_to_a_unique_prefix() {
    let name = |word| ROOT.sub(word).map(|command| command.name);
    assert_eq!(name("get"), Some("get"));
    assert_eq!(name("ge"), Some("get"));
    assert_eq!(name("lease"), Some("lease"));
    assert_eq!(name("memb"), Some("member"));
    assert_eq!(name("e"), None, "elect or endpoint");
    assert_eq!(name("nosuch"), None);
    assert_eq!(name(""), None);
}

#[test]
fn operations_of_a_transaction_have_their_flags() {
    let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
    let put = parse_operation(&words("put k v --prev-kv")).unwrap();
    assert_eq!(put.command.name, "put");
    assert!(put.flags.is_on("prev-kv"));
    assert_eq!(put.args, ["k", "v"]);
    for wrong in ["lease list", "put k --bogus", "watch k", "nosuch k"] {
        assert!(parse_operation(&words(wrong)).is_none(), "{wrong}");
    }
    let watch = parse_watch(&words("k --rev 3 --prefix")).unwrap();
    assert_eq!(watch.flags.int("rev"), 3);
    assert_eq!(parse_watch(&words("k --bogus")).unwrap_err(), "unknown flag: --bogus");
}

#[test]
fn compares_are_read_with_every_target_and_operator() {
    let parsed = |line| parse_compare(line).unwrap();
    let compare = parsed("mod(\"a b\") > \"5\"");
    assert_eq!(compare.key, "a b");
    assert_eq!(compare.target(), CompareTarget::Mod);
    assert_eq!(compare.result(), CompareResult::Greater);
    assert_eq!(compare.target_union, Some(TargetUnion::ModRevision(5)));
    assert_eq!(parsed("c(\"k\") < \"1\"").target(), CompareTarget::Create);
    assert_eq!(parsed("ver(\"k\") = \"1\"").target(), CompareTarget::Version);
    assert_eq!(parsed("lease(\"k\") != \"1\"").result(), CompareResult::NotEqual);
    let value = parsed("val(\"k\") = \"x\\n\"");
    assert_eq!(value.target_union, Some(TargetUnion::Value("x\n".into())));
}

#[test]
fn wrong_compares_are_bad_input() {
    for line in
        ["mod", "mod(k) = \"1\"", "mod(\"k\")=\"1\"", "mod(\"k\") = 1", "mod(\"k\") = \"x\""]
    {
        assert_eq!(parse_compare(line).unwrap_err().code, 3, "{line}");
    }
    let unknown = parse_compare("bogus(\"k\") = \"1\"").unwrap_err();
    let text = "malformed comparison: bogus(\"k\") = \"1\" (unknown target bogus)";
    assert_eq!(unknown.text.as_deref(), Some(text));
}
