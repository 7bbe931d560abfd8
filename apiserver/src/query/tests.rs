use super::*;

fn pairs(raw: &str) -> Result<Vec<(String, String)>, RequestError> {
    Query::parse(raw).map(|query| query.0)
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn parameters() {
    assert_eq!(pairs(""), Ok(vec![]));
    assert_eq!(pairs("&&"), Ok(vec![]));
    assert_eq!(pairs("a"), Ok(vec![pair("a", "")]));
    assert_eq!(pairs("a=b=c&=&%61+b=%2B"), Ok(vec![pair("a", "b=c"), pair("", ""), pair("a b", "+")]));
}

/// What cannot be read is refused, never dropped.
#[test]
fn unreadable_parameters() {
    assert_eq!(pairs("a;b"), Err(RequestError::Semicolon));
    for raw in ["%", "a=%4", "a=%zz", "%g0=1"] {
        assert_eq!(pairs(raw), Err(RequestError::MalformedEscape(Part::Query)), "{raw}");
    }
    assert_eq!(pairs("a=%ff"), Err(RequestError::NotUtf8(Part::Query)));
}

#[test]
fn as_many_as_allowed() {
    assert_eq!(pairs(&"a&".repeat(MAX_PARAMETERS)).map(|pairs| pairs.len()), Ok(MAX_PARAMETERS));
    assert_eq!(pairs(&"a&".repeat(MAX_PARAMETERS + 1)), Err(RequestError::TooManyParameters));
}

#[test]
fn switches() {
    let switch = |raw: &str| Query::parse(raw).unwrap().switch("watch");
    assert_eq!(switch(""), None);
    for on in ["watch", "watch=", "watch=1", "watch=true", "watch=no", "watch=1&watch=0"] {
        assert_eq!(switch(on), Some(true), "{on}");
    }
    for off in ["watch=0", "watch=false", "watch=FALSE", "watch=0&watch=1"] {
        assert_eq!(switch(off), Some(false), "{off}");
    }
}
