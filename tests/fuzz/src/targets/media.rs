//! The headers by which encodings are chosen.

use bailiwick_machinery::media::{
    Endpoint, MediaType, content_type, is_pretty, negotiate, negotiate_stream, patch_type,
};

use super::first_line;

/// Words of Accept headers.
pub const DICTIONARY: &[&[u8]] = &[
    b"application/json",
    b"application/yaml",
    b"application/vnd.kubernetes.protobuf",
    b"*/*",
    b"application/*",
    b",",
    b";",
    b"=",
    b"\"",
    b"\\",
    b";q=0.9",
    b";q=1e9",
    b";as=Table",
    b";as=PartialObjectMetadata",
    b";as=PartialObjectMetadataList",
    b";as=APIGroupDiscoveryList",
    b";g=meta.k8s.io",
    b";g=apidiscovery.k8s.io",
    b";v=v1",
    b";v=v1beta1",
    b";v=v2",
    b";stream=watch",
    b";pretty=1",
    b";profile=nopeer",
    b"application/merge-patch+json",
    b"application/json-patch+json",
    b"text/html",
    b" ",
];

const OFFERED: [MediaType; 3] = [MediaType::Json, MediaType::Yaml, MediaType::Protobuf];
const PLAIN: [MediaType; 2] = [MediaType::Json, MediaType::Yaml];

/// What is chosen was offered, and where nothing is made of objects, as one of their own encodings.
pub fn target(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for endpoint in [Endpoint::Plain, Endpoint::Resource { tables: true, plain: &PLAIN }] {
        for offered in [&OFFERED[..], &OFFERED[..1]] {
            if let Ok(chosen) = negotiate(&text, offered, endpoint) {
                assert!(offered.contains(&chosen.media_type), "{chosen:?} was not offered");
            }
            if let Ok(chosen) = negotiate_stream(&text, offered, endpoint) {
                assert!(offered.contains(&chosen.media_type), "{chosen:?} was not offered");
                assert!(chosen.media_type.streams(), "{chosen:?} is no stream");
            }
        }
    }
    if let Ok(read) = content_type(&text, &PLAIN) {
        assert!(PLAIN.contains(&read));
    }
    let patches = ["application/json-patch+json", "application/merge-patch+json"];
    if let Ok(read) = patch_type(&text, &patches) {
        assert!(patches.contains(&read));
    }
    let (parameter, agent) = first_line(data);
    let _ = is_pretty(&String::from_utf8_lossy(parameter), &String::from_utf8_lossy(agent));
}
