"""The clients of Python programs: what the package `kubernetes` expects of a server.

    python client.py KUBECONFIG

Makes a namespace of its own and fails with the first expectation that is not met.
"""

import os
import sys
import tempfile

from kubernetes import client, config, dynamic, watch

GROUP, VERSION, PLURAL = "catalog.bailiwick.dev", "v1alpha1", "resourcecatalogentries"

# Seconds; a watch of which all events were seen is left at once.
WATCH_LIMIT = 20


def claim(name):
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "ResourceCatalogEntry",
        "metadata": {"name": name, "labels": {"made-by": "python"}},
        "spec": {"extension": {"apiVersion": "example.com/v1", "kind": "Template"}},
    }


def expect(actual, expected, what):
    if actual != expected:
        sys.exit(f"{what}: {actual!r}, and not {expected!r}")


def expect_refusal(status, reason, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except client.exceptions.ApiException as error:
        expect((error.status, reason in error.body), (status, True), f"a refusal with {error.body}")
    else:
        sys.exit(f"{call.__name__} was not refused with {status} {reason}")


def make_namespace(core):
    metadata = client.V1ObjectMeta(generate_name="python-")
    return core.create_namespace(client.V1Namespace(metadata=metadata)).metadata.name


def change(claims, namespace):
    """Creates, lists, patches, replaces and deletes. Gives the version before the first change."""
    where = (GROUP, VERSION, namespace, PLURAL)
    empty = claims.list_namespaced_custom_object(*where)
    expect(empty["items"], [], "a list of nothing")

    made = claims.create_namespaced_custom_object(*where, claim("a"))
    claims.create_namespaced_custom_object(*where, claim("b"))
    expect_refusal(409, "AlreadyExists", claims.create_namespaced_custom_object, *where, claim("a"))

    first = claims.list_namespaced_custom_object(*where, limit=1)
    rest = claims.list_namespaced_custom_object(*where, limit=1, _continue=first["metadata"]["continue"])
    expect([item["metadata"]["name"] for item in first["items"] + rest["items"]], ["a", "b"], "two pages")
    chosen = claims.list_namespaced_custom_object(*where, label_selector="made-by=someone")
    expect(chosen["items"], [], "a list by label")

    patched = claims.patch_namespaced_custom_object(*where, "a", {"spec": {"description": "p-"}})
    expect(patched["spec"]["description"], "p-", "a merge patch")
    expect(patched["metadata"]["generation"], 2, "the generation after a patch")
    operations = [{"op": "remove", "path": "/spec/description"}]
    json_patch = {"_content_type": "application/json-patch+json"}
    patched = claims.patch_namespaced_custom_object(*where, "a", operations, **json_patch)
    expect("description" in patched["spec"], False, "a JSON patch")
    status = claims.patch_namespaced_custom_object_status(*where, "a", {"status": {"serviceAccount": {"name": "three", "uid": "3"}}})
    expect(status["status"]["serviceAccount"], {"name": "three", "uid": "3"}, "a status")

    expect_refusal(409, "Conflict", claims.replace_namespaced_custom_object, *where, "a", made)
    status["spec"]["description"] = "silver"
    claims.replace_namespaced_custom_object(*where, "a", status)
    expect_refusal(422, "Invalid", claims.patch_namespaced_custom_object, *where, "a", {"spec": {"extension": None}})

    deleted = claims.delete_namespaced_custom_object(*where, "b")
    expect(deleted["status"], "Success", "a deletion")
    expect_refusal(404, "NotFound", claims.get_namespaced_custom_object, *where, "b")
    return empty["metadata"]["resourceVersion"]


def replay(claims, namespace, version):
    """Watches what has happened since a version."""
    expected = [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("MODIFIED", "a"), ("MODIFIED", "a"), ("MODIFIED", "a")]
    expected.append(("DELETED", "b"))
    events = []
    stream = watch.Watch()
    where = (GROUP, VERSION, namespace, PLURAL)
    for event in stream.stream(
        claims.list_namespaced_custom_object, *where, resource_version=version, timeout_seconds=WATCH_LIMIT
    ):
        events.append((event["type"], event["object"]["metadata"]["name"]))
        if len(events) == len(expected):
            stream.stop()
    expect(events, expected, "a watch")


def discover(api, namespace):
    """The dynamic client finds a kind by asking the server what it has."""
    with tempfile.TemporaryDirectory() as folder:
        # It would remember a server that had the same port before.
        resources = dynamic.DynamicClient(api, cache_file=os.path.join(folder, "cache")).resources
        claims = resources.get(api_version=f"{GROUP}/{VERSION}", kind="ResourceCatalogEntry")
    expect(claims.namespaced, True, "the scope of a kind")
    expect([item.metadata.name for item in claims.get(namespace=namespace).items], ["a"], "a list by the dynamic client")
    claims.delete(namespace=namespace, label_selector="made-by=python", body={})
    expect(claims.get(namespace=namespace).items, [], "what is left of a collection")


def main(kubeconfig):
    api = config.new_client_from_config(kubeconfig)
    namespace = make_namespace(client.CoreV1Api(api))
    claims = client.CustomObjectsApi(api)
    version = change(claims, namespace)
    replay(claims, namespace, version)
    discover(api, namespace)
    print("everything was seen")


main(*sys.argv[1:])
