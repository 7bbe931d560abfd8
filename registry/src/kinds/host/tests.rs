use bailiwick_machinery::schema::{ListType, Schema};
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenRequest, TokenReview};
use k8s_openapi::api::authorization::v1::{
    LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview,
};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    ConfigMap, Event, Namespace, PodTemplate, ResourceQuota, Secret, Service, ServiceAccount,
};
use k8s_openapi::api::events::v1::Event as NewEvent;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};

use crate::kind::{KindError, Version};

/// The table knows every kind that is to be served, and its facts fit the Rust types.
#[test]
fn every_type_has_a_schema() {
    macro_rules! check {
        ($($type:ty),* $(,)?) => {
            $(assert!(Version::host::<$type>().is_ok(), stringify!($type));)*
        };
    }
    check!(Namespace, ConfigMap, Secret, ServiceAccount, ResourceQuota, Event, PodTemplate, NewEvent, Lease);
    check!(Role, ClusterRole, RoleBinding, ClusterRoleBinding, TokenReview, SelfSubjectReview, TokenRequest);
    check!(SubjectAccessReview, LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview);
    assert!(matches!(Version::host::<Service>(), Err(KindError::NotHost { .. })));
}

#[test]
fn schemas_say_how_lists_merge() {
    let schema = Version::host::<PodTemplate>().expect("a schema").schema;
    let at = |path: &str| -> Schema {
        let step = |schema: Schema, name: &str| match name {
            "[]" => schema.items().cloned(),
            name => schema.property(name).cloned(),
        };
        path.split('.').try_fold(schema.clone(), step).expect(path)
    };
    let ports = at("template.spec.containers.[].ports");
    assert_eq!(ports.list_type(), ListType::Map);
    assert_eq!(ports.map_keys().collect::<Vec<_>>(), ["containerPort", "protocol"]);
    assert_eq!(at("template.spec.containers.[].command").list_type(), ListType::Atomic);
    let protocol = at("template.spec.containers.[].ports.[].protocol");
    assert_eq!(protocol.to_json()["default"], "TCP");
}
