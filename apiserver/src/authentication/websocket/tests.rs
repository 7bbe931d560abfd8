use super::*;

#[test]
fn a_websocket_is_asked_for_by_both_headers() {
    let headers = |lines: &[(http::HeaderName, &'static str)]| {
        lines.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect::<HeaderMap>()
    };
    let asks = |lines: &[_]| asks_for_websocket(&headers(lines));
    assert!(asks(&[(UPGRADE, "WebSocket"), (CONNECTION, "keep-alive, Upgrade")]));
    assert!(!asks(&[(UPGRADE, "websocket")]));
    assert!(!asks(&[(CONNECTION, "upgrade")]));
    assert!(!asks(&[(UPGRADE, "h2c"), (CONNECTION, "upgrade")]));
    assert!(!asks(&[(UPGRADE, "websocket"), (CONNECTION, "keep-alive")]));
    assert!(!asks(&[]));
}
