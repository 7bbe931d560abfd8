//! What kubectl makes of the server's OpenAPI: explanations, checked fields, dry runs, patches and differences.

use bailiwick_test_host::{Kubectl, Output};

use crate::process::{Server, folder};

const ACME: &str = "
apiVersion: org.bailiwick.dev/v1alpha1
kind: Organization
metadata: {name: Acme}
memberUsers: [alice, bob]
";

/// Twice the same field, and one that there is not.
const STRANGE: &str = r#"{"apiVersion": "org.bailiwick.dev/v1alpha1", "kind": "Organization",
    "metadata": {"name": "Strange"}, "memberUsers": ["a"], "memberUsers": ["b"], "strange": 1}"#;

async fn ok(kubectl: &Kubectl, arguments: &[&str], input: &str) -> String {
    let output = run(kubectl, arguments, input).await;
    assert!(!output.stderr.contains("error"), "{}: {}", output.command, output.stderr);
    output.success().unwrap()
}

async fn fails(kubectl: &Kubectl, arguments: &[&str], input: &str) -> String {
    let output = run(kubectl, arguments, input).await;
    assert!(!output.status.success(), "{}: {}", output.command, output.stdout);
    output.stderr
}

async fn run(kubectl: &Kubectl, arguments: &[&str], input: &str) -> Output {
    kubectl.run_with(arguments, input).await.unwrap()
}

#[tokio::test]
async fn kinds_and_fields_are_explained() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let kubectl = server.kubectl().await;

    let organization = ok(&kubectl, &["explain", "organization"], "").await;
    for expected in [
        "GROUP:      org.bailiwick.dev\nKIND:       Organization\nVERSION:    v1alpha1\n",
        "Organization owns projects and groups of users.",
        "memberUsers\t<[]string>\n    Users who are members. Only members may be in an OrgGroup.",
        "metadata\t<ObjectMeta>\n",
    ] {
        assert!(organization.contains(expected), "{expected}: {organization}");
    }
    let spec = ok(&kubectl, &["explain", "rcc.spec", "--recursive"], "").await;
    for expected in [
        "FIELD: spec <Object>",
        "catalogName\t<string> -required-",
        "deletionPolicy\t<string>\n  enum: Delete, Orphan",
        "resourceCatalogEntry\t<Object> -required-\n    name\t<string> -required-",
    ] {
        assert!(spec.contains(expected), "{expected}: {spec}");
    }
    let field = ok(&kubectl, &["explain", "rcc.spec.resourceCatalogEntry.namespace"], "").await;
    assert!(field.contains("FIELD: namespace <string>"), "{field}");
    let owners = ok(&kubectl, &["explain", "orggroup.metadata.ownerReferences"], "").await;
    assert!(owners.contains("FIELD: ownerReferences <[]OwnerReference>"), "{owners}");
    let unknown = fails(&kubectl, &["explain", "organization.strange"], "").await;
    assert!(unknown.contains("field \"strange\" does not exist"), "{unknown}");
    server.stop().await;
}

#[tokio::test]
async fn objects_are_created_applied_and_compared() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let kubectl = server.kubectl().await;

    let created = ok(&kubectl, &["create", "--dry-run=server", "-f", "-"], ACME).await;
    assert_eq!(created, "organization.org.bailiwick.dev/Acme created (server dry run)\n");
    let absent = fails(&kubectl, &["get", "organization", "Acme"], "").await;
    assert!(absent.contains("NotFound"), "{absent}");
    ok(&kubectl, &["create", "--save-config", "-f", "-"], ACME).await;

    let changed = ACME.replace("bob", "carol");
    let difference = run(&kubectl, &["diff", "-f", "-"], &changed).await;
    assert_eq!(difference.status.code(), Some(1), "{}", difference.stderr);
    assert!(difference.stdout.contains("-- bob\n+- carol\n"), "{}", difference.stdout);
    let tried = ok(&kubectl, &["apply", "--dry-run=server", "-f", "-"], &changed).await;
    assert_eq!(tried, "organization.org.bailiwick.dev/Acme configured (server dry run)\n");
    assert_eq!(members(&kubectl).await, "alice bob");

    // A strategic patch would be answered with 415.
    let patched = run(&kubectl, &["apply", "-v=9", "-f", "-"], &changed).await;
    assert!(patched.stderr.contains("Content-Type: application/merge-patch+json"), "{}", patched.stderr);
    assert!(patched.stderr.contains("fieldValidation=Strict"), "{}", patched.stderr);
    patched.success().unwrap();
    assert_eq!(members(&kubectl).await, "alice carol");
    let again = ok(&kubectl, &["apply", "-f", "-"], &changed).await;
    assert_eq!(again, "organization.org.bailiwick.dev/Acme unchanged\n");
    assert_eq!(ok(&kubectl, &["diff", "-f", "-"], &changed).await, "");
    server.stop().await;
}

#[tokio::test]
async fn fields_that_are_unknown_or_doubled_are_refused() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]).await;
    let kubectl = server.kubectl().await;
    let unknown = format!("{ACME}strange: 1\n");
    for command in [["create", "-f", "-"], ["apply", "-f", "-"]] {
        let refused = fails(&kubectl, &command, &unknown).await;
        assert!(refused.contains("strict decoding error: unknown field \"strange\""), "{refused}");
    }
    // kubectl reads what it sends, and so never sends a field twice, unless it is told not to look.
    let path = "/apis/org.bailiwick.dev/v1alpha1/organizations?fieldValidation=Strict";
    let refused = fails(&kubectl, &["create", "--raw", path, "-f", "-"], STRANGE).await;
    let expected = "strict decoding error: duplicate field \"memberUsers\", unknown field \"strange\"";
    assert!(refused.contains(expected), "{refused}");

    let warned = run(&kubectl, &["create", "--validate=warn", "-f", "-"], &unknown).await;
    assert!(warned.stderr.contains("Warning: unknown field \"strange\""), "{}", warned.stderr);
    warned.success().unwrap();
    server.stop().await;
}

async fn members(kubectl: &Kubectl) -> String {
    ok(kubectl, &["get", "organization", "Acme", "-o", "jsonpath={.memberUsers[*]}"], "").await
}
