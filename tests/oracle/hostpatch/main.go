// Command hostpatch records what apimachinery makes of strategic merge patches: of those that it makes itself from two
// objects, and of the same with changes that nobody should make.
package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"bailiwick.dev/oracle/internal/hostkinds"
	"bailiwick.dev/oracle/internal/record"
)

// Written by hand, so that lists have items to merge; the kind is the first field.
var documents = []string{
	`["v1","ConfigMap",{"metadata":{"name":"a","labels":{"x":"1","y":"2"},"finalizers":["a/b","c/d","e/f"]},"data":{"k":"v","l":"w"},"immutable":false}]`,
	`["v1","ServiceAccount",{"metadata":{"name":"a","ownerReferences":[{"uid":"u1","kind":"K","name":"n","apiVersion":"v1"},{"uid":"u2","kind":"K","name":"m","apiVersion":"v1"}]},"secrets":[{"name":"s1"},{"name":"s2","namespace":"x"},{"name":"s3"}],"imagePullSecrets":[{"name":"p"}]}]`,
	`["v1","Namespace",{"metadata":{"name":"a"},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active","conditions":[{"type":"A","status":"True"},{"type":"B","status":"False","message":"m"}]}}]`,
	`["v1","ResourceQuota",{"metadata":{"name":"a"},"spec":{"hard":{"cpu":"1","memory":"1Gi"},"scopes":["Best","Worst"]},"status":{"hard":{"cpu":"1"},"used":{}}}]`,
	`["rbac.authorization.k8s.io/v1","ClusterRole",{"metadata":{"name":"a"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]},{"verbs":["*"]}],"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}}]`,
	`["coordination.k8s.io/v1","Lease",{"metadata":{"name":"a","annotations":{"k":"v"}},"spec":{"holderIdentity":"h","leaseDurationSeconds":5,"renewTime":"2024-01-01T00:00:00.000000Z"}}]`,
	`["v1","PodTemplate",{"metadata":{"name":"a"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c1","image":"i1","ports":[{"containerPort":80,"protocol":"TCP"},{"containerPort":81,"name":"x"}],"env":[{"name":"E1","value":"1"},{"name":"E2","valueFrom":{"fieldRef":{"fieldPath":"p"}}}],"resources":{"limits":{"cpu":"1"}}},{"name":"c2","command":["a","b"],"volumeMounts":[{"name":"v","mountPath":"/a"},{"name":"v","mountPath":"/b"}]},{"name":"c3"}],"volumes":[{"name":"v","emptyDir":{}},{"name":"w","configMap":{"name":"cm","items":[{"key":"k","path":"p"}]}}],"tolerations":[{"key":"t"}],"nodeSelector":{"n":"s"},"hostAliases":[{"ip":"1.1.1.1","hostnames":["h"]}],"securityContext":{"supplementalGroups":[1,2]}}}}]`,
	`["v1","PodTemplate",{"metadata":{"name":"b"},"template":{"spec":{"containers":[{"name":"c1","image":"i"}],"initContainers":[{"name":"i1"},{"name":"i2"},{"name":"i1"}],"imagePullSecrets":[{"name":"p1"},{"name":"p2"}],"topologySpreadConstraints":[{"topologyKey":"z","maxSkew":1,"whenUnsatisfiable":"x"}]}}}]`,
}

var (
	scheme = hostkinds.Scheme()
	random = rand.New(rand.NewSource(11))
)

type document struct {
	APIVersion, Kind string
	Object           json.RawMessage
}

func main() {
	var cases, heads []any
	for number, text := range documents {
		var parts [3]json.RawMessage
		must(json.Unmarshal([]byte(text), &parts))
		var doc document
		must(json.Unmarshal(parts[0], &doc.APIVersion))
		must(json.Unmarshal(parts[1], &doc.Kind))
		doc.Object = typed(doc, parts[2])
		heads = append(heads, []any{doc.APIVersion, doc.Kind, doc.Object})
		count := 220
		if doc.Kind == "PodTemplate" {
			count = 620
		}
		for _, patch := range hand {
			cases = append(cases, run(number, doc, []byte(patch))...)
		}
		for range count {
			cases = append(cases, run(number, doc, patch(doc))...)
		}
	}
	record.Write(map[string][]any{"documents": heads, "cases": cases})
}

var hand = []string{
	`{}`, `null`, `[]`, `"x"`, `{"$patch":"replace","metadata":{"name":"z"}}`, `{"$patch":"delete"}`, `{"$patch":"merge"}`, `{"$patch":7}`,
	`{"metadata":{"$patch":null}}`, `{"metadata":{"$retainKeys":["name"]}}`, `{"metadata":{"$retainKeys":["name"],"labels":{"a":"b"}}}`,
	`{"metadata":{"$retainKeys":"name"}}`, `{"metadata":{"$retainKeys":[[]]}}`, `{"metadata":{"finalizers":["e/f","n/n"]}}`,
	`{"metadata":{"$deleteFromPrimitiveList/finalizers":["c/d"]}}`, `{"metadata":{"$deleteFromPrimitiveList":["c/d"]}}`,
	`{"metadata":{"$deleteFromPrimitiveList/":["c/d"]}}`, `{"metadata":{"$setElementOrder/finalizers":["e/f","a/b"],"finalizers":["e/f"]}}`,
	`{"metadata":{"$setElementOrder/finalizers":["x"],"finalizers":["e/f"]}}`, `{"metadata":{"$setElementOrder/nothing":[]}}`,
	`{"metadata":{"$setElementOrderfinalizers":[]}}`, `{"metadata":{"$setElementOrder/finalizers":7}}`, `{"metadata":{"LABELS":{"a":"b"}}}`,
	`{"metadata":{"labels":{"x":null,"n":null}}}`, `{"metadata":{"labels":{"x":{"y":"z"}}}}`, `{"unknown":{"a":{"$patch":"delete"},"b":null}}`,
	`{"metadata":{"finalizers":[["x"]]}}`, `{"metadata":{"finalizers":[1]}}`, `{"metadata":{"finalizers":[null]}}`,
	`{"metadata":{"$setElementOrder/finalizers":[],"finalizers":[]}}`, `{"metadata":{"$setElementOrder/labels":["x"]}}`,
}

// patch makes a patch that turns the document into another one, and then perhaps spoils it.
func patch(doc document) []byte {
	var tree any
	must(json.Unmarshal(doc.Object, &tree))
	for range 1 + random.Intn(4) {
		change(tree)
	}
	modified, ok := tryTyped(doc, encode(tree))
	if !ok {
		modified = doc.Object
	}
	made, err := strategicpatch.CreateTwoWayMergePatch(doc.Object, modified, object(doc))
	if err != nil {
		return encode(tree)
	}
	if random.Intn(2) == 0 {
		return made
	}
	var spoiled any
	must(json.Unmarshal(made, &spoiled))
	for range 1 + random.Intn(2) {
		spoil(spoiled)
	}
	return encode(spoiled)
}

// change alters an object at random: scalars, order, fields and items that come and go.
func change(tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		keys := record.SortedKeys(tree)
		if len(keys) == 0 {
			return
		}
		key := keys[random.Intn(len(keys))]
		switch value := tree[key].(type) {
		case []any:
			switch random.Intn(5) {
			case 0:
				random.Shuffle(len(value), func(i, j int) { value[i], value[j] = value[j], value[i] })
			case 1:
				if len(value) > 0 {
					tree[key] = append(value[:0:0], value[1:]...)
				}
			case 2:
				if len(value) > 0 {
					tree[key] = append(append(value[:0:0], renamed(value[0])), value...)
				}
			default:
				if len(value) > 0 {
					change(value[random.Intn(len(value))])
				}
			}
		case map[string]any:
			if random.Intn(8) == 0 {
				delete(tree, key)
			} else {
				change(value)
			}
		case string:
			if random.Intn(6) == 0 {
				delete(tree, key)
			} else {
				tree[key] = value + fmt.Sprint(random.Intn(3))
			}
		default:
			delete(tree, key)
		}
	}
}

func renamed(item any) any {
	var copied any
	must(json.Unmarshal(encode(item), &copied))
	switch copied := copied.(type) {
	case map[string]any:
		for _, key := range []string{"name", "uid", "type", "ip", "mountPath", "topologyKey"} {
			if text, ok := copied[key].(string); ok {
				copied[key] = text + "n"
			}
		}
		return copied
	case string:
		return copied + "n"
	}
	return copied
}

// spoil puts something into a patch that does not belong there.
func spoil(tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		keys := record.SortedKeys(tree)
		if len(keys) > 0 && random.Intn(4) > 0 {
			spoil(tree[keys[random.Intn(len(keys))]])
			return
		}
		values := []any{
			nil, "x", 7, true, 1.5, []any{}, []any{"x"}, []any{map[string]any{}}, []any{map[string]any{"name": "c1"}}, map[string]any{},
			map[string]any{"$patch": "delete"}, map[string]any{"a": nil}, []any{[]any{}}, []any{nil},
			[]any{map[string]any{"$patch": "replace"}, map[string]any{"name": "z"}}, []any{map[string]any{"$patch": "delete", "name": "c2"}},
			[]any{map[string]any{"$patch": "merge"}}, []any{map[string]any{"name": []any{}}}, []any{"a", 1},
		}
		value := values[random.Intn(len(values))]
		names := append(keys, "$patch", "$retainKeys", "$setElementOrder/containers", "$setElementOrder/finalizers", "$deleteFromPrimitiveList/finalizers",
			"$deleteFromPrimitiveList/command", "containers", "finalizers", "secrets", "new")
		name := names[random.Intn(len(names))]
		if name == "$patch" {
			value = []any{"delete", "replace", "merge", "x", 1, nil}[random.Intn(6)]
		}
		tree[name] = value
	case []any:
		if len(tree) > 0 {
			spoil(tree[random.Intn(len(tree))])
		}
	}
}

// run applies a patch several times. Go's maps have no order, so what an error says can be a matter of luck; such cases are
// not recorded.
func run(number int, doc document, patch []byte) []any {
	first := apply(doc, patch)
	for range 12 {
		if !reflect.DeepEqual(first, apply(doc, patch)) {
			return nil
		}
	}
	return []any{append([]any{number, json.RawMessage(patch)}, first...)}
}

func apply(doc document, patch []byte) (result []any) {
	defer func() {
		if recover() != nil {
			result = []any{nil, "panic"}
		}
	}()
	original, fields := map[string]any{}, map[string]any{}
	must(kjson.UnmarshalCaseSensitivePreserveInts(doc.Object, &original))
	if err := kjson.UnmarshalCaseSensitivePreserveInts(patch, &fields); err != nil {
		return []any{nil, err.Error()}
	}
	merged, err := strategicpatch.StrategicMergeMapPatch(original, fields, object(doc))
	if err != nil {
		return []any{nil, err.Error()}
	}
	return []any{json.RawMessage(encode(merged)), ""}
}

func object(doc document) runtime.Object {
	for _, kind := range hostkinds.All {
		apiVersion, name := hostkinds.GVK(scheme, kind).ToAPIVersionAndKind()
		if apiVersion == doc.APIVersion && name == doc.Kind {
			return reflect.New(reflect.TypeOf(kind).Elem()).Interface().(runtime.Object)
		}
	}
	panic(doc.Kind)
}

// typed is an object as Go writes it.
func typed(doc document, text []byte) []byte {
	written, ok := tryTyped(doc, text)
	if !ok {
		panic(string(text))
	}
	return written
}

func tryTyped(doc document, text []byte) ([]byte, bool) {
	into := object(doc)
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, into); err != nil {
		return nil, false
	}
	return encode(into), true
}

func encode(value any) []byte {
	out, err := json.Marshal(value)
	must(err)
	return out
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
