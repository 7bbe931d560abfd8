//! Where one request ends and the next begins, and whose the connection is.

use super::{NAME, NAMESPACE, SECRET, Target, codes};
use crate::claims::{claim, collection, make_namespaces, object};
use crate::turn::turn;

/// What must never be executed: it deletes the victim.
fn smuggled() -> String {
    format!("DELETE {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", object(NAMESPACE, NAME))
}

/// A request with lines of a head and what follows it.
fn with(first: &str, lines: &str, rest: &str) -> String {
    format!("{first} HTTP/1.1\r\nHost: x\r\n{lines}\r\n{rest}")
}

/// S-09. Who asks for another protocol is refused, and what follows on the connection is not read as requests.
#[tokio::test]
async fn connections_are_not_handed_over() {
    let _turn = turn().await;
    let target = Target::start().await;
    let (one, all) = (object(NAMESPACE, NAME), collection(NAMESPACE));
    let mut texts = Vec::new();
    for path in
        [one.as_str(), &all, &format!("{all}?watch=true"), &format!("{one}/exec"), "/", "/version", "/livez", "/none"]
    {
        for protocol in ["websocket", "SPDY/3.1", "h2c", "TLS/1.0", "HTTP/2.0"] {
            let lines = format!(
                "Connection: Upgrade\r\nUpgrade: {protocol}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            );
            texts.push(with(&format!("GET {path}"), &lines, ""));
        }
    }
    texts.push(with("POST /version", "Upgrade: x\r\nContent-Length: 0\r\n", ""));
    for authority in ["127.0.0.1:1", "x:443", "kubernetes.default.svc:443"] {
        texts.push(with(&format!("CONNECT {authority}"), "", ""));
    }
    for (text, answer) in texts.iter().zip(target.write_all(&texts).await) {
        let head = text.lines().next().unwrap_or_default();
        assert_eq!(codes(&answer), [400], "{head}: {answer}");
        assert!(answer.to_ascii_lowercase().contains("connection: close"), "{head}: {answer}");
        assert!(!answer.contains(SECRET), "{head}: {answer}");
    }
    // A server that closes while there is more to read may take its answer back, but never gives two.
    let followed: Vec<String> = texts.iter().map(|text| format!("{text}{}", smuggled())).collect();
    for (text, answer) in followed.iter().zip(target.write_all(&followed).await) {
        assert!(matches!(codes(&answer)[..], [] | [400]), "{text}: {answer}");
    }
    target.end().await;
}

/// A request whose end two readers could see in different places is the last on its connection, or none.
#[tokio::test]
async fn requests_with_two_ends() {
    let _turn = turn().await;
    let target = Target::start().await;
    let smuggled = smuggled();
    let length = smuggled.len();
    let get = format!("POST {}", collection("elsewhere"));
    let whole = format!("{length:x}\r\n{smuggled}\r\n0\r\n\r\n");
    let texts: Vec<String> = [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n".to_owned(), format!("0\r\n\r\n{smuggled}")),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n".to_owned(), format!("0\r\n\r\n{smuggled}")),
        (format!("Content-Length: {length}\r\nContent-Length: 0\r\n"), smuggled.clone()),
        (format!("Content-Length: 0\r\nContent-Length: {length}\r\n"), smuggled.clone()),
        (format!("Content-Length: 0, {length}\r\n"), smuggled.clone()),
        ("Content-Length: +0\r\n".to_owned(), smuggled.clone()),
        ("Content-Length: -1\r\n".to_owned(), smuggled.clone()),
        ("Content-Length: 0x0\r\n".to_owned(), smuggled.clone()),
        ("Content-Length: 99999999999999999999\r\n".to_owned(), smuggled.clone()),
        ("Content-Length : 0\r\n".to_owned(), smuggled.clone()),
        ("Transfer-Encoding: chunked, identity\r\n".to_owned(), format!("0\r\n\r\n{smuggled}")),
        ("Transfer-Encoding: identity\r\n".to_owned(), smuggled.clone()),
        ("Transfer-Encoding: xchunked\r\n".to_owned(), format!("0\r\n\r\n{smuggled}")),
        ("Transfer-Encoding : chunked\r\n".to_owned(), format!("0\r\n\r\n{smuggled}")),
        ("Transfer-Encoding:\x0bchunked\r\n".to_owned(), format!("0\r\n\r\n{smuggled}")),
        ("Transfer-Encoding: chunked\r\nX: y\r\n folded: z\r\n".to_owned(), format!("0\r\n\r\n{smuggled}")),
        ("X: y\rContent-Length: 0\r\n".to_owned(), smuggled.clone()),
        ("X: y\x00Content-Length: 0\r\n".to_owned(), smuggled.clone()),
        ("Transfer-Encoding: chunked\r\n".to_owned(), format!("-1\r\n{smuggled}")),
        ("Transfer-Encoding: chunked\r\n".to_owned(), format!("ffffffffffffffff1\r\n{smuggled}")),
        ("Transfer-Encoding: chunked\r\n".to_owned(), format!("0x0\r\n\r\n{smuggled}")),
        ("Transfer-Encoding: chunked\r\n".to_owned(), whole.replace("\r\n0\r\n\r\n", "\r\n0\r\n")),
        ("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n".to_owned(), whole),
    ]
    .into_iter()
    .map(|(lines, rest)| with(&get, &lines, &rest))
    .collect();
    // Two requests that are two to everyone: this is how it looks if the second one is executed.
    let bait = claim("bait", "tools", "gold", "0");
    make_namespaces(&target.client, ["elsewhere"]).await;
    target.client.post(&collection("elsewhere"), &bait).await.unwrap().expect(201);
    let honest = with("GET /version", "", &smuggled.replace(&object(NAMESPACE, NAME), &object("elsewhere", "bait")));
    assert_eq!(codes(&target.write_all(&[honest]).await[0]), [200, 200]);
    for (text, answer) in texts.iter().zip(target.write_all(&texts).await) {
        let codes = codes(&answer);
        assert!(codes.len() <= 1, "more than one request was seen in {text:?}: {answer}");
        assert!(codes.iter().all(|code| *code >= 400), "{text:?}: {answer}");
        target.check().await;
    }
    target.end().await;
}

/// Whatever a request calls the host, or the whole address, it is this server and the path that is asked for.
#[tokio::test]
async fn other_hosts() {
    let _turn = turn().await;
    let target = Target::start().await;
    let one = object(NAMESPACE, NAME);
    let close = "Connection: close\r\n";
    let alice = "Impersonate-User: alice\r\n";
    let request = |target: &str, lines: &str| format!("GET {target} HTTP/1.1\r\n{close}{lines}\r\n");
    let cases = [
        (request(&format!("https://other.example{one}"), "Host: x\r\n"), &[200, 400][..]),
        (request(&format!("https://other.example{one}"), &format!("Host: x\r\n{alice}")), &[403, 400]),
        (request(&format!("http://admin@x{one}"), &format!("Host: x\r\n{alice}")), &[403, 400]),
        (request(&format!("//x{one}"), &format!("Host: x\r\n{alice}")), &[403, 404, 400]),
        (request("*", "Host: x\r\n"), &[400, 404]),
        (request("x:443", "Host: x\r\n"), &[400, 404]),
        (request(one.trim_start_matches('/'), "Host: x\r\n"), &[400]),
        (request(&format!("{one}#x"), &format!("Host: x\r\n{alice}")), &[403, 400]),
        (request(&one, &format!("Host: x\r\nX-Original-URL: /livez\r\nX-Rewrite-URL: /livez\r\n{alice}")), &[403]),
        (request("/livez", &format!("Host: x\r\nX-Original-URL: {one}\r\nX-Rewrite-URL: {one}\r\n{alice}")), &[200]),
        (
            request(
                &one,
                &format!(
                    "Host: x\r\nX-Forwarded-User: admin\r\nX-Remote-User: admin\r\nX-Remote-Group: system:masters\r\nAuthorization: Basic YWRtaW46YWRtaW4=\r\n{alice}"
                ),
            ),
            &[403, 401],
        ),
        (
            request(
                &one,
                &format!("Host: x\r\nForwarded: for=127.0.0.1;host=localhost\r\nX-Forwarded-For: 127.0.0.1\r\n{alice}"),
            ),
            &[403],
        ),
    ];
    let texts: Vec<String> = cases.iter().map(|(text, _)| text.clone()).collect();
    for ((text, allowed), answer) in cases.iter().zip(target.write_all(&texts).await) {
        let codes = codes(&answer);
        assert!(codes.len() == 1 && allowed.contains(&codes[0]), "{text:?}: {answer}");
        let shown = text.contains("alice") || !text.contains(&one);
        assert!(!(shown && answer.contains(SECRET)), "{text:?}: {answer}");
    }
    target.end().await;
}
