//! What survives a loss of power, and what a full disk takes.

use super::*;

#[test]
fn what_was_synced_survives_and_the_rest_is_gone() {
    let mut image = Image::default();
    let file = image.create(ROOT, "a", false).expect("room");
    image.write(file, 0, b"one").expect("room");
    image.sync(file).expect("a good disk");
    image.sync(ROOT).expect("a good disk");
    image.write(file, 0, b"two, and longer").expect("room");
    let other = image.create(ROOT, "b", false).expect("room");
    image.sync(other).expect("a good disk");
    image.power_loss(Loss::Drop, &mut Dice::new(1));
    assert_eq!(image.read(file, 0, 100).expect("there"), b"one");
    assert_eq!(image.lookup(ROOT, "b"), Err(Refusal::NoEntry), "the folder was not synced");
}

#[test]
fn a_rename_is_undone_whole_or_kept_whole() {
    for seed in 0..50 {
        let mut image = Image::default();
        let old = image.create(ROOT, "a", false).expect("room");
        image.sync(ROOT).expect("a good disk");
        image.rename((ROOT, "a"), (ROOT, "b")).expect("there");
        image.power_loss(Loss::Tear, &mut Dice::new(seed));
        let names = (image.lookup(ROOT, "a"), image.lookup(ROOT, "b"));
        assert!(
            names == (Ok(old), Err(Refusal::NoEntry)) || names == (Err(Refusal::NoEntry), Ok(old)),
            "{names:?}"
        );
    }
}

#[test]
fn a_failed_sync_loses_the_bytes_and_the_next_one_reports_nothing() {
    let mut image = Image::default();
    let file = image.create(ROOT, "a", false).expect("room");
    image.sync(ROOT).expect("a good disk");
    image.write(file, 0, b"gone").expect("room");
    image.fail_next_sync = true;
    assert_eq!(image.sync(file), Err(Refusal::Io));
    assert_eq!(image.sync(file), Ok(()));
    assert_eq!(image.read(file, 0, 4).expect("there"), b"gone", "the cache has it");
    assert_eq!(image.read_device(file, 0, 4).expect("there"), [0; 4], "the device has not");
    image.write(file, 600, b"kept").expect("room");
    image.sync(file).expect("a good disk");
    assert_eq!(image.read_device(file, 600, 4).expect("there"), b"kept");
    image.power_loss(Loss::Drop, &mut Dice::new(1));
    assert_ne!(image.read(file, 0, 4).expect("there"), b"gone");
}

#[test]
fn a_full_disk_refuses_growth_and_takes_overwrites() {
    let mut image = Image::default();
    let file = image.create(ROOT, "a", false).expect("room");
    image.write(file, 0, &[1; 1000]).expect("room");
    image.capacity = image.used();
    assert_eq!(image.write(file, 500, &[2; 1000]), Err(Refusal::NoSpace));
    assert_eq!(image.write(file, 0, &[2; 1000]), Ok(()));
}
