use bailiwick_registry::User;
use http::Method;

use super::*;
use crate::request::Request;

fn user(groups: &[&str]) -> User {
    User { name: "u".to_owned(), groups: groups.iter().map(|group| (*group).to_owned()).collect(), ..User::default() }
}

fn level(method: Method, target: &str, groups: &[&str], origin: Option<FromWithin>) -> Option<Level> {
    Level::of(Request::parse(&method, target).unwrap().info(), &user(groups), origin)
}

#[test]
fn every_request_has_its_room() {
    let masters: &[&str] = &["other", "system:masters"];
    for (method, target, groups, expected) in [
        (Method::GET, "/apis/g/v1/things/a", &[][..], Some(Level::Read)),
        (Method::GET, "/apis/g/v1/things", &[], Some(Level::Read)),
        (Method::GET, "/metrics", &[], Some(Level::Read)),
        (Method::GET, "/healthzz", &[], Some(Level::Read)),
        (Method::GET, "/api/v1/healthz", &[], Some(Level::Read)),
        (Method::POST, "/apis/g/v1/things", &[], Some(Level::Write)),
        (Method::DELETE, "/apis/g/v1/things", &[], Some(Level::Write)),
        (Method::OPTIONS, "/apis/g/v1/things", &[], Some(Level::Write)),
        (Method::HEAD, "/version", &[], Some(Level::Write)),
        (Method::GET, "/apis/g/v1/things?watch=1", &[], Some(Level::Watch)),
        (Method::GET, "/apis/g/v1/things?watch=1", masters, None),
        (Method::GET, "/apis/g/v1/things", masters, None),
        (Method::POST, "/apis/g/v1/things", masters, None),
        (Method::GET, "/livez", &[], None),
        (Method::GET, "/readyz/etcd", &[], None),
        (Method::GET, "/healthz", masters, None),
    ] {
        assert_eq!(level(method.clone(), target, groups, None), expected, "{method} {target} {groups:?}");
        let within = (!target.ends_with("watch=1")).then_some(Level::InProcess);
        assert_eq!(level(method, target, groups, Some(FromWithin)), within, "{target}");
    }
}

#[tokio::test(start_paused = true)]
async fn rooms_do_not_starve_one_another() {
    let options =
        LimitOptions { reads: Some(1), writes: Some(1), watches: None, in_process: Some(1), ..LimitOptions::default() };
    let limits = Limits::new(&options);
    let user = user(&[]);
    let mut seats = Vec::new();
    for level in [Level::Read, Level::Write, Level::InProcess] {
        seats.push(limits.enter(Some(level), &user).await.unwrap().unwrap());
        assert_eq!(limits.enter(Some(level), &user).await.err(), Some(TooMany), "{level:?}");
    }
    assert!(limits.enter(Some(Level::Watch), &user).await.unwrap().is_none(), "no bound, no seat");
    assert!(limits.enter(None, &user).await.unwrap().is_none());
}

#[test]
fn the_refusal_is_that_of_kubernetes() {
    let response = too_many();
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "1");
    assert_eq!(response.headers()["content-type"], "text/plain; charset=utf-8");
}
