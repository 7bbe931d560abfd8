package main

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// What the documents say of a kind and of its list.
type documented struct {
	Schema json.RawMessage `json:"schema"`
	V3     any             `json:"v3"`
	V2     any             `json:"v2"`
}

func documents() []documented {
	var out []documented
	for _, text := range append(properties, described...) {
		d := changed("plain", fields, `{"x":`+text+`}`)
		if answer, ok := ask(record{New: d}); !ok || len(answer.Errors) > 0 {
			continue
		}
		out = append(out, document(d))
	}
	for _, text := range schemas {
		d := changed("plain", schema, text)
		if answer, ok := ask(record{New: d}); !ok || len(answer.Errors) > 0 {
			continue
		}
		out = append(out, document(d))
	}
	return append(out, document(changed("rich", "/spec/names/kind", `"Widget"`, "/spec/names/listKind", `"WidgetList"`, "/spec/versions/0/selectableFields", "-")))
}

func document(d definition) documented {
	object := d.object()
	var crd apiextensionsv1.CustomResourceDefinition
	must(utiljson.Unmarshal(encode(object), &crd))
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(&crd)
	name := "dev.example.v1.Widget"
	v3, err := builder.BuildOpenAPIV3(&crd, "v1", builder.Options{V2: false})
	must(err)
	v2, err := builder.BuildOpenAPIV2(&crd, "v1", builder.Options{V2: true})
	must(err)
	written := encode(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	return documented{Schema: written, V3: v3.Components.Schemas[name], V2: v2.Definitions[name]}
}

// Schemas of a field that say more than rules do.
var described = []string{
	`{"type":"object","description":"d","title":"t","example":{"a":1},"externalDocs":{"url":"u","description":"e"},"properties":{"a":{"type":"string","description":"da","example":"x"}}}`,
	`{"type":"object","required":["a","b"],"properties":{"a":{"type":"string","nullable":true},"b":{"type":"object","nullable":true,"properties":{"c":{"type":"string"}}}}}`,
	`{"type":"object","required":["a"],"additionalProperties":{"type":"string","nullable":true}}`, `{"type":"array","nullable":true,"items":{"type":"string"}}`,
	`{"type":"array","x-kubernetes-preserve-unknown-fields":true,"items":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"string"}}}}`,
	`{"x-kubernetes-int-or-string":true}`, `{"x-kubernetes-int-or-string":true,"anyOf":[{"minimum":1},{"pattern":"^a"}]}`, `{"x-kubernetes-int-or-string":true,"allOf":[{"anyOf":[{"type":"integer"},{"type":"string"}]},{"minimum":1}]}`,
	`{"x-kubernetes-int-or-string":true,"allOf":[{"minimum":1}],"nullable":true,"default":5}`,
	`{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`, `{"type":"object","x-kubernetes-embedded-resource":true,"required":["kind","spec"],"properties":{"spec":{"type":"object"}}}`,
	`{"type":"array","items":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"kind":{"type":"string","description":"k"}}}}`,
	`{"type":"string","enum":["a","b"],"default":"a","pattern":"^[ab]$","minLength":1,"maxLength":1,"format":"hostname"}`, `{"type":"number","minimum":0,"maximum":1e21,"exclusiveMaximum":true,"multipleOf":0.25,"default":0.5}`,
	`{"type":"integer","enum":[1,2,null],"nullable":true,"format":"int64"}`, `{"type":"object","additionalProperties":true}`, `{"type":"object","additionalProperties":false}`, `{"type":"object","minProperties":1,"maxProperties":2,"additionalProperties":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"boolean"}}}`,
	`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"oneOf":[{"required":["a"]},{"required":["b"]}],"not":{"properties":{"a":{"minimum":3}}},"allOf":[{"anyOf":[{"properties":{"b":{"enum":[1]}}}]}]}`,
	`{"type":"object","properties":{"a":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"self.a > 1","message":"m","reason":"FieldValueInvalid","fieldPath":".a"}]}`, `{"type":"string","default":""}`, `{"type":"boolean","default":false}`,
	`{"type":"object","default":{},"properties":{"a":{"type":"array","default":[],"items":{"type":"string"}}}}`,
}
