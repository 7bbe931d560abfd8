//! The certificates for etcd, which are files that others replace while the server runs.

use std::path::Path;
use std::sync::Weak;

use bailiwick_storage::etcd::{ClientCertificate, Etcd, Secret, TlsOptions};

use super::StoreError;
use crate::flags::EtcdFlags;
use crate::followed_files::FollowedFiles;

/// What the files say; nothing where there are none.
pub(super) fn read(flags: &EtcdFlags) -> Result<Option<TlsOptions>, StoreError> {
    let Some(ca) = &flags.etcd_cafile else { return Ok(None) };
    let client = match (&flags.etcd_certfile, &flags.etcd_keyfile) {
        (Some(certificate), Some(key)) => {
            let text = String::from_utf8(file(key)?).map_err(|_| StoreError::Key { path: key.clone() })?;
            Some(ClientCertificate { certificate: file(certificate)?, key: Secret::new(text) })
        }
        _ => None,
    };
    Ok(Some(TlsOptions { ca: file(ca)?, client, server_name: None }))
}

/// Goes on with what the files say, for as long as the store is in use. What cannot be used is tried again for as long as it is
/// there: etcd may trust it a moment later.
pub(super) async fn follow(flags: EtcdFlags, mut used: TlsOptions, store: Weak<Etcd>) {
    let mut files = FollowedFiles::new("certificates for etcd");
    loop {
        files.turn().await;
        let Some(store) = store.upgrade() else { return };
        let found = match read(&flags) {
            Ok(Some(found)) if found != used => {
                store.set_tls(found.clone()).await.map(|()| Some(found)).map_err(|error| error.to_string())
            }
            Ok(_) => Ok(None),
            Err(error) => Err(error.to_string()),
        };
        if let Some(found) = files.tell(found) {
            used = found;
        }
    }
}

fn file(path: &Path) -> Result<Vec<u8>, StoreError> {
    std::fs::read(path).map_err(|source| StoreError::File { path: path.to_owned(), source })
}
