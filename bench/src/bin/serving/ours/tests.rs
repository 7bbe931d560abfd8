use super::*;

#[test]
fn the_executable_is_told_by_cargo() {
    let messages = r#"{"reason":"compiler-artifact","target":{"name":"bailiwick-machinery"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"bailiwick","kind":["lib"]},"executable":null}
{"reason":"compiler-artifact","target":{"name":"bailiwick","kind":["bin"]},"executable":"target/release/bailiwick"}
{"reason":"build-finished","success":true}"#;
    assert_eq!(executable(messages), Some("target/release/bailiwick".into()));
    assert_eq!(executable("no JSON\n{}"), None);
}

#[tokio::test]
async fn a_program_that_ends_at_once_shows_its_log() {
    let error = Ours::start(Path::new("/bin/echo"), Store::Embedded).await.err().unwrap();
    let text = error.to_string();
    assert!(text.contains("admin.kubeconfig") && text.contains("serve --secure-port 0"), "{text}");
}
