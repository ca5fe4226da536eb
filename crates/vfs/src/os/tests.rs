//! Behaviour of the module above, as sentences.

use super::*;
use std::os::unix::fs::PermissionsExt;

fn disk() -> (tempfile::TempDir, OsDisk) {
    let dir = tempfile::tempdir().unwrap();
    let disk = OsDisk::open(&dir.path().join("a/b")).unwrap();
    (dir, disk)
}

#[test]
fn a_second_user_of_the_folder_is_refused() {
    let (dir, disk) = disk();
    assert!(disk.is_locked());
    let error = OsDisk::open(&dir.path().join("a/b")).unwrap_err();
    assert_eq!((error.action, error.kind), ("lock", ErrorKind::Locked));
    drop(disk);
    OsDisk::open(&dir.path().join("a/b")).unwrap();
}

#[test]
fn files_and_folders_are_private() {
    let (dir, disk) = disk();
    disk.create_dir("x/y").unwrap();
    disk.create_dir("x/y").unwrap();
    disk.open("x/y/f", Open::Create).unwrap();
    let mode = |path: &str| {
        std::fs::metadata(dir.path().join("a/b").join(path)).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode(""), mode("x"), mode("x/y"), mode("x/y/f")), (0o700, 0o700, 0o700, 0o600));
}

#[test]
fn what_is_written_is_read_also_from_the_device_at_any_offset() {
    let (_dir, disk) = disk();
    let bytes: Vec<u8> = (0..3_000_000u32).map(|i| ((i * 7) >> 3) as u8).collect();
    let file = disk.open("f", Open::Create).unwrap();
    file.write_at(&bytes, 0).unwrap();
    file.sync().unwrap();
    let device = disk.open("f", Open::ReadDevice).unwrap();
    for file in [file, device, disk.open("f", Open::Read).unwrap()] {
        for (from, to) in
            [(0, 3_000_000), (1, 2), (4095, 4097), (511, 2_500_001), (2_999_999, 3_000_000)]
        {
            let mut buf = vec![0; to - from];
            file.read_at(&mut buf, from as u64).unwrap();
            assert_eq!(buf, bytes[from..to], "{from}..{to}");
        }
        let error = file.read_at(&mut [0; 2], 2_999_999).unwrap_err();
        assert_eq!(error.kind, ErrorKind::ShortRead);
        assert_eq!(file.len().unwrap(), 3_000_000);
    }
}

#[test]
fn allocation_extends_with_zeros_and_keeps_what_is_there() {
    let (_dir, disk) = disk();
    let file = disk.open("f", Open::Create).unwrap();
    file.write_at(b"abc", 0).unwrap();
    file.allocate(10_000).unwrap();
    assert_eq!(file.len().unwrap(), 10_000);
    let mut buf = [1; 5];
    file.read_at(&mut buf, 0).unwrap();
    assert_eq!(&buf, b"abc\0\0");
    file.set_len(2).unwrap();
    assert_eq!(file.len().unwrap(), 2);
}

#[test]
fn the_fallback_of_allocation_extends_with_zeros() {
    let dir = tempfile::tempdir().unwrap();
    let flags = OFlags::RDWR | OFlags::CREATE;
    let fd = fs::open(dir.path().join("f"), flags, Mode::RUSR | Mode::WUSR).unwrap();
    let file = OsFile { fd, path: "f".into(), direct: false };
    file.write_at(b"abc", 0).unwrap();
    file.fill(2 * ZERO_CHUNK as u64 + 5).unwrap();
    assert_eq!(file.len().unwrap(), 2 * ZERO_CHUNK as u64 + 5);
    let mut buf = [1; 5];
    file.read_at(&mut buf, 0).unwrap();
    assert_eq!(&buf, b"abc\0\0");
}

#[test]
fn interrupted_calls_are_repeated() {
    let mut left = 3;
    let result = retry(|| {
        left -= 1;
        if left == 0 { Ok(7) } else { Err(Errno::INTR) }
    });
    assert_eq!((result, left), (Ok(7), 0));
}

#[test]
fn names_are_listed_sorted_and_follow_renames_and_removals() {
    let (_dir, disk) = disk();
    for name in ["b", "a", "c"] {
        disk.open(name, Open::Create).unwrap();
    }
    disk.rename("a", "d").unwrap();
    disk.remove("b").unwrap();
    disk.sync_dir("").unwrap();
    assert_eq!(disk.list("").unwrap(), ["c", "d"]);
    assert!(disk.available().unwrap() > 0);
}

#[test]
fn errors_name_the_call_the_file_and_the_reason() {
    let (_dir, disk) = disk();
    let error = disk.open("gone", Open::Read).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "open gone: no such file (errno 2)");
    disk.open("f", Open::Create).unwrap();
    let error = disk.open("f", Open::Create).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "create f: the file exists (errno 17)");
    let read_only = disk.open("f", Open::Read).unwrap();
    let error = read_only.write_at(b"x", 5).unwrap_err();
    assert_eq!(error.to_string(), "write f at offset 5: input/output error (errno 9)");
}

#[test]
fn an_overwrite_of_a_forgotten_file_is_counted_as_what_was_written() {
    let (_dir, disk) = disk();
    let file = disk.open("log", Open::Create).unwrap();
    file.write_at(&vec![0; 16 << 20], 0).unwrap();
    file.sync().unwrap();
    file.forget_cached();
    let before = written_by_this_thread();
    for block in 0..16 {
        file.write_at(&[7; 4096], block * 4096).unwrap();
        file.sync().unwrap();
    }
    let each = (written_by_this_thread() - before) / 16;
    assert!(each <= 3 * 4096, "{each} bytes were counted for each block");
}

/// What the kernel has counted for the storage layer.
fn written_by_this_thread() -> u64 {
    let io = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")).unwrap();
    line.parse().unwrap()
}
