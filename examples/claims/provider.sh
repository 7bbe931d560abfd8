#!/bin/sh
# A tiny provider: everything that is asked for is ready at once, and has a connection secret. It takes kubectl and a few
# seconds; a real provider would take a cloud and some minutes.
set -eu
kinds="cloudsqlinstances.database.gcp.crossplane.io mysqlservers.database.azure.crossplane.io
mysqlservervirtualnetworkrules.database.azure.crossplane.io"

ready() { # kind name
    now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
    kubectl patch "$1" "$2" --subresource=status --type=merge -p "{\"status\": {\"conditions\": [
        {\"type\": \"Ready\", \"status\": \"True\", \"reason\": \"Available\", \"message\": \"\", \"lastTransitionTime\": \"$now\"}]}}"
}

connect() { # kind name
    secret=$(kubectl get "$1" "$2" -o jsonpath='{.spec.writeConnectionSecretToRef.name}')
    [ -n "$secret" ] || return 0
    namespace=$(kubectl get "$1" "$2" -o jsonpath='{.spec.writeConnectionSecretToRef.namespace}')
    kubectl apply -f - <<END
apiVersion: v1
kind: Secret
metadata:
  name: $secret
  namespace: $namespace
  ownerReferences:
  - apiVersion: $(kubectl get "$1" "$2" -o jsonpath='{.apiVersion}')
    kind: $(kubectl get "$1" "$2" -o jsonpath='{.kind}')
    name: $2
    uid: $(kubectl get "$1" "$2" -o jsonpath='{.metadata.uid}')
    controller: true
stringData: {endpoint: $2.example.org, username: root, password: secret}
END
}

while true; do
    for kind in $kinds; do
        for name in $(kubectl get "$kind" -o jsonpath='{range .items[?(!@.status.conditions)]}{.metadata.name}{"\n"}{end}' 2>/dev/null); do
            connect "$kind" "$name"
            ready "$kind" "$name"
        done
    done
    sleep 1
done
