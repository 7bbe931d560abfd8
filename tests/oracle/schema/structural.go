package main

import (
	"encoding/json"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

type structuralAnswer struct {
	Schema json.RawMessage `json:"schema"`
	Errors [][3]string     `json:"errors,omitempty"`
}

func structural() []structuralAnswer {
	var answers []structuralAnswer
	for _, schema := range append(notStructural, randomBroken(80)...) {
		_, parsed, err := parse(json.RawMessage(schema))
		must(err)
		errs := structuralschema.ValidateStructural(nil, parsed)
		answers = append(answers, structuralAnswer{Schema: json.RawMessage(schema), Errors: record(errs)})
	}
	return answers
}

var notStructural = []string{
	`{}`,
	`{"type":"object"}`,
	`{"type":"string"}`,
	`{"type":"object","additionalProperties":{"type":"string"}}`,
	`{"type":"object","properties":{"a":{}}}`,
	`{"type":"object","properties":{"a":{"type":"array"}}}`,
	`{"type":"object","properties":{"a":{"type":"array","items":{}}}}`,
	`{"type":"object","properties":{"a":{"x-kubernetes-preserve-unknown-fields":true}}}`,
	`{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true}}}`,
	`{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]}}}`,
	`{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true,"allOf":[{"anyOf":[{"type":"integer"},{"type":"string"}]},{"minimum":1}]}}}`,
	`{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"string"},{"type":"integer"}]}}}`,
	`{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true,"x-kubernetes-preserve-unknown-fields":true}}}`,
	`{"type":"object","properties":{"a":{"x-kubernetes-embedded-resource":true,"x-kubernetes-int-or-string":true}}}`,
	`{"type":"object","properties":{"a":{"x-kubernetes-embedded-resource":true}}}`,
	`{"type":"object","properties":{"a":{"type":"object","x-kubernetes-embedded-resource":true}}}`,
	`{"type":"object","properties":{"a":{"type":"string","x-kubernetes-embedded-resource":true}}}`,
	`{"type":"object","properties":{"a":{"type":"object","x-kubernetes-embedded-resource":true,"additionalProperties":{"type":"string"}}}}`,
	`{"type":"object","properties":{"a":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"properties":{"kind":{"type":"integer"},"apiVersion":{"type":"integer"},"metadata":{"type":"string"}}}}}`,
	`{"type":"object","properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","maxLength":5}}}}}`,
	`{"type":"object","properties":{"metadata":{"type":"object","properties":{"labels":{"type":"object"}}}}}`,
	`{"type":"object","properties":{"metadata":{"type":"object","description":"x"}}}`,
	`{"type":"object","properties":{"kind":{"type":"integer"},"apiVersion":{"type":"object"},"metadata":{"type":"string"}}}`,
	`{"type":"object","properties":{"a":{"type":"integer"}},"anyOf":[{"properties":{"a":{"minimum":1}}},{"required":["b"]}]}`,
	`{"type":"object","properties":{"a":{"type":"integer"}},"anyOf":[{"properties":{"b":{"minimum":1}}}],"not":{"properties":{"c":{}}}}`,
	`{"type":"object","properties":{"a":{"type":"integer"}},"allOf":[{"type":"object","title":"t","description":"d","nullable":true,"default":{},"additionalProperties":{"type":"string"},"properties":{"metadata":{}}}]}`,
	`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"},"oneOf":[{"items":{"x-kubernetes-list-type":"set","x-kubernetes-map-type":"atomic","x-kubernetes-list-map-keys":["a"]}}]}}}`,
	`{"type":"object","properties":{"a":{"type":"string","not":{"x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-embedded-resource":true,"x-kubernetes-int-or-string":true}}}}`,
	`{"type":"object","properties":{"a":{"type":"object","additionalProperties":true}}}`,
}
