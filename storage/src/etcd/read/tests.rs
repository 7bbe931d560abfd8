use super::*;

fn answer(keys: usize, value_bytes: usize) -> Vec<PbKeyValue> {
    vec![PbKeyValue { key: vec![b'k'; 10], value: vec![0; value_bytes], ..PbKeyValue::default() }; keys]
}

#[test]
fn pages_follow_the_size_of_what_was_found() {
    assert_eq!(next_page(&[]), LARGEST_PAGE);
    assert_eq!(next_page(&answer(100, 100)), LARGEST_PAGE);
    assert_eq!(next_page(&answer(10, 1 << 20)), 3);
    assert_eq!(next_page(&answer(1, 8 << 20)), 1);
    let pages = next_page(&answer(10, 4_000));
    assert!((1_000..1_100).contains(&pages), "{pages}");
}
