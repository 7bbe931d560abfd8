use super::*;

fn next(page: &str) -> Option<String> {
    next_page(&Bytes::copy_from_slice(page.as_bytes()))
}

#[test]
fn the_token_is_found_before_and_behind_the_items() {
    let items = format!("\"items\":[{}]", "{},".repeat(10_000));
    let metadata = r#""metadata":{"resourceVersion":"7","continue":"eyJ2_-.~"}"#;
    assert_eq!(next(&format!("{{{metadata},{items}}}")).as_deref(), Some("eyJ2_-.~"));
    assert_eq!(next(&format!("{{{items},{metadata}}}")).as_deref(), Some("eyJ2_-.~"));
}

#[test]
fn a_token_is_made_fit_for_a_query() {
    assert_eq!(next(r#"{"continue":"a+b/c=="}"#).as_deref(), Some("a%2Bb%2Fc%3D%3D"));
}

#[test]
fn the_last_page_has_no_token() {
    for page in ["", "{}", r#"{"metadata":{"continue":""},"items":[]}"#, r#"{"continue":"cut of"#] {
        assert_eq!(next(page), None, "{page}");
    }
}

#[test]
fn batches_have_their_size() {
    let options = Options::full();
    assert_eq!(batches(&options), 100);
    let in_first = (0..options.objects).filter(|&nth| batch(&options, nth) == "b-000").count();
    assert_eq!(in_first, options.per_batch);
}
