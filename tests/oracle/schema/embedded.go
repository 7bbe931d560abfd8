package main

import (
	"encoding/json"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
)

// What is read of an object that has others inside, as a definition's decoder does it.
type read struct {
	Schema json.RawMessage `json:"schema"`
	Object json.RawMessage `json:"object"`
	// Fields that nobody knows: of the schema, and of the metadata of objects inside.
	Unknown []string `json:"unknown,omitempty"`
	// The object afterwards, unless it is refused.
	Result any    `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Each stands where a resource is.
var resources = []string{
	`{}`, `null`, `[]`, `"x"`, `1`,
	`{"apiVersion":"v1","kind":"K"}`, `{"apiVersion":1}`, `{"kind":null}`, `{"kind":[]}`,
	`{"metadata":null}`, `{"metadata":{}}`, `{"metadata":"x"}`, `{"metadata":[]}`, `{"metadata":1}`,
	`{"metadata":{"name":"n","foo":1,"bar":{"a":1}}}`, `{"metadata":{"name":1}}`, `{"metadata":{"name":null}}`,
	`{"metadata":{"labels":{"a":"b"},"annotations":{}}}`, `{"metadata":{"labels":{"a":1}}}`, `{"metadata":{"labels":{"a":null}}}`, `{"metadata":{"labels":[]}}`,
	`{"metadata":{"finalizers":["a"]}}`, `{"metadata":{"finalizers":[1]}}`, `{"metadata":{"finalizers":"a"}}`,
	`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n","uid":"u","foo":1}]}}`, `{"metadata":{"ownerReferences":[1]}}`, `{"metadata":{"ownerReferences":{}}}`, `{"metadata":{"ownerReferences":[{"name":1}]}}`,
	`{"metadata":{"managedFields":[{"manager":"m","foo":1}]}}`, `{"metadata":{"managedFields":[{"manager":1}]}}`, `{"metadata":{"managedFields":1}}`,
	`{"metadata":{"creationTimestamp":"2020-01-01T00:00:00Z"}}`, `{"metadata":{"creationTimestamp":null}}`, `{"metadata":{"creationTimestamp":"x"}}`, `{"metadata":{"generation":1.5}}`, `{"metadata":{"generation":"1"}}`, `{"metadata":{"uid":1}}`,
	`{"spec":{"a":"x","foo":1},"foo":1,"metadata":{"foo":1}}`,
	`{"spec":{"child":{"apiVersion":"v1","kind":"K","metadata":{"foo":1,"name":"n"},"foo":2}}}`, `{"spec":{"child":{"kind":1}}}`,
}

func embedded() []read {
	child := `{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object","properties":{"a":{"type":"string"},"child":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}}}`
	free := `{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`
	var all []read
	for _, resource := range resources {
		for _, inner := range []string{child, free} {
			for _, place := range [][2]string{
				{`"child":RESOURCE`, `"child":RESOURCE`},
				{`"list":{"type":"array","items":RESOURCE}`, `"list":[{},RESOURCE]`},
				{`"map":{"type":"object","additionalProperties":RESOURCE}`, `"map":{"a.b":RESOURCE}`},
			} {
				schema := `{"type":"object","properties":{"spec":{"type":"object","properties":{` + strings.ReplaceAll(place[0], "RESOURCE", inner) + `}}}}`
				object := `{"apiVersion":"example.dev/v1","kind":"Thing","spec":{"foo":1,` + strings.ReplaceAll(place[1], "RESOURCE", resource) + `}}`
				all = append(all, readEmbedded(json.RawMessage(schema), json.RawMessage(object)))
			}
		}
	}
	return all
}

func readEmbedded(schema, object json.RawMessage) read {
	_, structural, err := parse(schema)
	must(err)
	result := read{Schema: schema, Object: object}
	value := decode(object)
	result.Unknown = pruning.PruneWithOptions(value, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(value, structural)
	failure, unknown := objectmeta.CoerceWithOptions(nil, value, structural, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if failure != nil {
		result.Error = failure.Error()
		result.Unknown = nil
		return result
	}
	result.Unknown = append(result.Unknown, unknown...)
	result.Result = value
	return result
}
