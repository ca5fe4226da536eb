//! The runner's own behaviour.

use crate::{Command, diff, play};
use expect_test::expect;

fn echo(command: &Command) -> anyhow::Result<String> {
    match command.name.as_str() {
        "say" => Ok(command.args.join(" ")),
        "quiet" => Ok(String::new()),
        _ => command.unknown(),
    }
}

#[test]
fn outputs_are_written_behind_their_block() {
    let script = "# A rule.\n\nsay one\nquiet\nsay \"two  words\"\n---\nold\n\n# More.\nsay end\n";
    let played = play(script, &mut echo).unwrap();
    expect![[r#"
        # A rule.

        say one
        quiet
        say "two  words"
        ---
        one
        two  words

        # More.
        say end
        ---
        end
    "#]]
    .assert_eq(&played);
    assert_eq!(play(&played, &mut echo).unwrap(), played);
}

#[test]
fn an_empty_line_of_output_does_not_end_the_block() {
    let played = play("# A rule.\nsay \"a\\n\\nb\"\n", &mut echo).unwrap();
    assert!(played.ends_with("---\na\n.\nb\n"));
    assert_eq!(play(&played, &mut echo).unwrap(), played);
}

#[test]
fn a_script_without_a_rule_and_an_unknown_command_are_refused() {
    assert!(play("say one\n", &mut echo).is_err());
    assert!(play("# A rule.\nshout\n", &mut echo).is_err());
}

#[test]
fn words_options_and_escapes() {
    let command = Command::parse(r#"put "a b=c" \x00\0 lease=7 text="x = y""#).unwrap();
    assert_eq!(command.args, ["a b=c", "\0\0"]);
    assert_eq!(command.parse_option("lease", 0).unwrap(), 7);
    assert_eq!(command.option("text"), Some("x = y"));
    assert_eq!(command.parse_option("none", 3).unwrap(), 3);
    assert!(Command::parse("put \"a").is_err());
}

#[test]
fn a_difference_is_shown_with_its_line() {
    expect![[r#"
        line 2:
        - b
        + x
        + y
    "#]]
    .assert_eq(&diff("a\nb\nc\n", "a\nx\ny\nc\n"));
}
