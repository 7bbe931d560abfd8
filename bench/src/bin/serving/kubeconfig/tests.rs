use super::*;

const YAML: &str = "apiVersion: v1
kind: Config
clusters:
- name: server
  cluster:
    server: https://127.0.0.1:6443
    certificate-authority-data: Y2E=
users:
- name: admin
  user:
    client-certificate-data: Y2VydGlmaWNhdGU=
    client-key-data: a2V5
";

const JSON: &str = r#"{"clusters":[{"name":"server","cluster":{"certificate-authority-data":"Y2E=","server":"https://127.0.0.1:6443"}}],
"users": [{"user": {"client-certificate-data": "Y2VydGlmaWNhdGU=", "client-key-data": "a2V5"}}]}"#;

fn parse(text: &str) -> Result<Kubeconfig, Error> {
    Kubeconfig::parse(Path::new("admin.kubeconfig"), text)
}

#[test]
fn both_notations_are_read() {
    let quoted = YAML.replace("https://127.0.0.1:6443", "\"https://127.0.0.1:6443\"");
    for text in [YAML, JSON, &quoted] {
        let parsed = parse(text).unwrap();
        assert_eq!(parsed.authority, "127.0.0.1:6443");
        let Credentials { ca, certificate, key } = parsed.credentials;
        assert_eq!([ca, certificate, key], ["ca", "certificate", "key"]);
    }
}

#[test]
fn what_is_missing_is_named() {
    for field in ["server", "certificate-authority-data", "client-certificate-data", "client-key-data"] {
        let without: String =
            YAML.lines().filter(|line| !line.contains(&format!(" {field}:"))).collect::<Vec<_>>().join("\n");
        let error = parse(&without).err().unwrap().to_string();
        assert!(error.contains(field) && error.contains("admin.kubeconfig"), "{error}");
    }
    assert!(parse("").is_err());
    assert!(parse(&YAML.replace("a2V5", "!")).is_err());
}
