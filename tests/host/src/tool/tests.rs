use std::thread;

use super::*;

/// A stand-in for Go: `sh` running `script`, with Go's arguments as `$@` and the folder of the cache as `$cache`.
fn workshop(cache: &Path, script: &str) -> Workshop {
    let script = format!("cache='{}'; {script}", cache.display());
    Workshop {
        go: vec!["sh".into(), "-c".into(), script.into(), "go".into()],
        cache: cache.to_owned(),
        announce: |_| {},
    }
}

/// Takes the path after `-o` into `$out`.
const FIND_OUT: &str = "while [ \"$1\" != -o ]; do shift; done; out=$2";

#[test]
fn every_etcd_module_has_the_version_of_the_tool() {
    let pins: Vec<&str> = ETCD_MODULE.go_mod.lines().filter(|line| line.contains("go.etcd.io/etcd/")).collect();
    assert!(pins.len() > 2, "{pins:?}");
    for pin in pins {
        assert!(pin.contains(ETCD_MODULE.version), "{pin}");
    }
}

#[test]
fn every_kubernetes_module_has_the_version_of_the_tool() {
    let go_mod = KUBERNETES_MODULE.go_mod;
    assert!(go_mod.contains(&format!("k8s.io/kubernetes {}\n", KUBERNETES_MODULE.version)));
    assert!(KUBERNETES_LDFLAGS.contains(&format!("gitVersion={} ", KUBERNETES_MODULE.version)));
    let parts: Vec<&str> = go_mod.lines().filter(|line| line.contains(" => ")).collect();
    assert!(parts.len() > 30, "{parts:?}");
    for part in parts {
        assert!(part.ends_with(STAGING_MODULE.version), "{part}");
    }
}

#[test]
fn processes_that_want_a_tool_at_once_build_it_once() {
    let cache = tempfile::tempdir().unwrap();
    let script = format!("echo built >>$cache/count; {FIND_OUT}; sleep 0.2; echo program >$out");
    let workshop = workshop(cache.path(), &script);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let path = workshop.path(&ETCD).unwrap();
                assert_eq!(fs::read_to_string(path).unwrap(), "program\n");
            });
        }
    });
    assert_eq!(fs::read_to_string(cache.path().join("count")).unwrap(), "built\n");
}

#[test]
fn a_failed_build_leaves_no_tool_and_shows_what_go_said() {
    let cache = tempfile::tempdir().unwrap();
    let failing = workshop(cache.path(), &format!("{FIND_OUT}; echo half >$out; echo no such module >&2; exit 1"));
    let error = failing.path(&ETCDCTL).unwrap_err();
    assert!(error.to_string().contains("no such module"), "{error}");

    let working = workshop(cache.path(), &format!("{FIND_OUT}; echo whole >$out"));
    assert_eq!(fs::read_to_string(working.path(&ETCDCTL).unwrap()).unwrap(), "whole\n");
}

#[test]
fn without_go_the_error_says_what_to_install() {
    let cache = tempfile::tempdir().unwrap();
    let workshop = Workshop { go: vec!["/nonexistent/go".into()], cache: cache.path().to_owned(), announce: |_| {} };
    let error = workshop.path(&ETCD).unwrap_err();
    assert!(matches!(error, Error::NoGo { tool: "etcd", .. }), "{error:?}");
    assert!(error.to_string().contains("install Go"), "{error}");
}
