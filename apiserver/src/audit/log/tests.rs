use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tempfile::TempDir;

use super::*;

/// A clock that goes on by a second each time it is looked at.
#[derive(Default)]
struct Ticking(AtomicU64);

impl Clock for Ticking {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_700_000_000 + self.0.fetch_add(1, Ordering::Relaxed))
    }
}

fn options(path: &Path) -> AuditLogOptions {
    AuditLogOptions {
        target: LogTarget::File(path.to_owned()),
        mode: AuditMode::BlockingStrict,
        max_bytes: None,
        max_backups: None,
        max_age: None,
        compress: false,
    }
}

fn open(options: AuditLogOptions) -> (AuditLog, Arc<Metrics>) {
    let metrics = Arc::new(Metrics::default());
    (AuditLog::open(options, metrics.clone(), Arc::new(Ticking::default())).unwrap(), metrics)
}

async fn write_line(log: &AuditLog, line: impl Into<Vec<u8>>) -> Result<(), Unwritten> {
    log.hand_over(line.into()).await.written().await
}

async fn write(log: &AuditLog, count: usize) {
    for number in 0..count {
        write_line(log, format!("{{\"auditID\":\"{number:04}\"}}\n")).await.unwrap();
    }
}

/// The names of the files, and what they contain.
fn files(folder: &TempDir) -> BTreeMap<String, String> {
    let read = |file: fs::DirEntry| {
        let mut text = String::new();
        let name = file.file_name().into_string().unwrap();
        let mut open = fs::File::open(file.path()).unwrap();
        match name.ends_with(".gz") {
            true => flate2::read::GzDecoder::new(open).read_to_string(&mut text).unwrap(),
            false => open.read_to_string(&mut text).unwrap(),
        };
        (name, text)
    };
    fs::read_dir(folder.path()).unwrap().map(|file| read(file.unwrap())).collect()
}

fn names(folder: &TempDir) -> Vec<String> {
    fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

async fn wait_until(is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waiting).await.expect("it is so before long");
}

#[tokio::test]
async fn full_files_are_put_aside_and_nothing_is_lost() {
    for compress in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        // A line has 19 bytes: five fit.
        let rotating = AuditLogOptions { max_bytes: Some(100), compress, ..options(&folder.path().join("audit.log")) };
        let (log, _) = open(rotating);
        write(&log, 42).await;
        let is_done = |name: &String| name == "audit.log" || name.ends_with(if compress { ".gz" } else { ".log" });
        wait_until(|| names(&folder).iter().all(is_done)).await;
        drop(log);
        let files = files(&folder);
        assert_eq!(files.len(), 9, "{files:?}");
        let aside: String =
            files.iter().filter(|(name, _)| *name != "audit.log").map(|(_, text)| text.as_str()).collect();
        let all: Vec<String> = (0..42).map(|number| format!("{{\"auditID\":\"{number:04}\"}}")).collect();
        assert_eq!(format!("{aside}{}", files["audit.log"]).lines().collect::<Vec<_>>(), all);
        let suffix = if compress { ".log.gz" } else { ".log" };
        assert!(
            files
                .keys()
                .filter(|name| *name != "audit.log")
                .all(|name| { name.starts_with("audit-2023-11-14T22-") && name.ends_with(suffix) }),
            "{files:?}"
        );
    }
}

/// Nobody waits for old files: neither the start of a server nor its requests.
#[tokio::test]
async fn compressing_keeps_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let rotating =
        AuditLogOptions { max_bytes: Some(100), compress: true, ..options(&folder.path().join("audit.log")) };
    // What is read from it comes when someone writes to it: compressing it takes as long as we like.
    let endless = folder.path().join("audit-2022-01-01T00-00-00.000.log");
    assert!(std::process::Command::new("mkfifo").arg(&endless).status().unwrap().success());
    let (opened_tx, opened_rx) = oneshot::channel();
    std::thread::spawn(move || opened_tx.send(open(rotating).0).map_err(drop));
    let long = Duration::from_secs(30);
    let log = tokio::time::timeout(long, opened_rx).await.expect("a log is opened at once").unwrap();
    let began = folder.path().join("audit-2022-01-01T00-00-00.000.log.gz.tmp");
    wait_until(|| began.exists()).await;
    tokio::time::timeout(long, write(&log, 42)).await.expect("entries are written");
    assert_eq!(names(&folder).len(), 9 + 2, "files are put aside: {:?}", names(&folder));
    fs::write(&endless, "old").unwrap();
    wait_until(|| names(&folder).iter().all(|name| name == "audit.log" || name.ends_with(".gz"))).await;
    drop(log);
    let files = files(&folder);
    assert_eq!((files.len(), files["audit-2022-01-01T00-00-00.000.log.gz"].as_str()), (10, "old"));
}

#[tokio::test]
async fn old_files_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.log");
    fs::write(folder.path().join("audit-nonsense.log"), "kept").unwrap();
    fs::write(folder.path().join("audit-2022-01-01T00-00-00.000.log"), "old").unwrap();
    let (log, _) = open(AuditLogOptions { max_bytes: Some(20), max_backups: Some(3), ..options(&path) });
    write(&log, 10).await;
    drop(log);
    let names: Vec<String> = files(&folder).into_keys().collect();
    assert_eq!(names.len(), 5, "{names:?}");
    assert!(names.contains(&"audit-nonsense.log".to_owned()));
    assert!(!names.contains(&"audit-2022-01-01T00-00-00.000.log".to_owned()));

    fs::write(folder.path().join("audit-2022-01-01T00-00-00.000.log"), "old").unwrap();
    let day = Duration::from_secs(86_400);
    let (log, _) = open(AuditLogOptions { max_age: Some(day), ..options(&path) });
    drop(log);
    let names: Vec<String> = files(&folder).into_keys().collect();
    assert!(!names.contains(&"audit-2022-01-01T00-00-00.000.log".to_owned()), "{names:?}");
    assert_eq!(names.len(), 5, "{names:?}");
}

#[tokio::test]
async fn a_line_that_is_larger_than_a_file_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let (log, _) = open(AuditLogOptions { max_bytes: Some(10), ..options(&folder.path().join("audit")) });
    write(&log, 3).await;
    drop(log);
    assert_eq!(files(&folder).into_values().map(|text| text.lines().count()).sum::<usize>(), 3);
}

#[tokio::test]
async fn a_file_that_was_moved_away_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("logs/audit.log");
    let (log, _) = open(options(&path));
    write(&log, 1).await;
    fs::rename(&path, folder.path().join("moved")).unwrap();
    write(&log, 2).await;
    drop(log);
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&fs::metadata(&path).unwrap()) & 0o777, 0o600);
}

/// `/dev/full` refuses every write, as a full disk does.
#[tokio::test]
async fn what_cannot_be_written_is_counted_and_told() {
    let line = "{\"auditID\":\"x\"}\n";
    let full = options(Path::new("/dev/full"));
    let (log, metrics) = open(full.clone());
    assert_eq!(write_line(&log, line).await, Err(Unwritten));
    assert_eq!(metrics.audit.errors.get(), 1);
    let (log, metrics) = open(AuditLogOptions { mode: AuditMode::Blocking, ..full.clone() });
    assert_eq!(write_line(&log, line).await, Ok(()));
    assert_eq!(metrics.audit.errors.get(), 1);
    let (log, metrics) = open(AuditLogOptions { mode: AuditMode::Batch, ..full });
    assert_eq!(write_line(&log, line).await, Ok(()));
    drop(log);
    assert_eq!(metrics.audit.errors.get(), 1);
}

/// Whoever does not wait writes all the same, and closing waits for it.
#[tokio::test]
async fn closing_waits_for_what_was_handed_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.log");
    let (log, metrics) = open(AuditLogOptions { mode: AuditMode::Batch, ..options(&path) });
    for _ in 0..MAX_WAITING {
        write_line(&log, "{}\n").await.unwrap();
    }
    drop(log);
    let lines = fs::read_to_string(&path).unwrap().lines().count() as u64;
    assert_eq!(lines + metrics.audit.errors.get(), MAX_WAITING as u64);
    assert!(lines >= MAX_BATCH as u64);
}

#[test]
fn a_file_that_cannot_be_opened_is_told() {
    let metrics = Arc::new(Metrics::default());
    let opened = AuditLog::open(options(Path::new("/dev/null/audit.log")), metrics, Arc::new(Ticking::default()));
    let error = opened.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("/dev/null/audit.log") && error.contains("check"), "{error}");
}
