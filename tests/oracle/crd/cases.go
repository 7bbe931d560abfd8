package main

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

const (
	schema = "/spec/versions/0/schema/openAPIV3Schema"
	fields = schema + "/properties/spec/properties"
)

// Changes are written as pointer, value, pointer, value; "-" removes.
func changed(base string, changes ...string) definition {
	d := definition{Base: base}
	for i := 0; i < len(changes); i += 2 {
		var value json.RawMessage
		if changes[i+1] != "-" {
			value = compact(changes[i+1])
		}
		d.Changes = append(d.Changes, change{At: changes[i], Value: value})
	}
	return d
}

func created(base string, changes ...string) record {
	return record{New: changed(base, changes...)}
}

func updated(old, new definition) record {
	return record{New: new, Old: &old}
}

func byHand() []record {
	records := []record{created("plain"), created("rich"), created("versions"), created("protected")}
	for _, name := range []string{"", "a", "A.b", "example.dev", "x.k8s.io", "k8s.io", "notk8s.io", "a.kubernetes.io", "a..b", "-a.b"} {
		records = append(records, created("plain", "/spec/group", quoted(name)))
	}
	for _, text := range []string{"", "unapproved, testing", "unapproved", "https://x.dev/a", "nonsense", "/path", "http://", "mailto:a@b.c", "https://a b", "//h/p", "http://u@/p"} {
		at := "/metadata/annotations/api-approved.kubernetes.io"
		records = append(records, created("protected", at, quoted(text)))
		records = append(records, updated(changed("protected"), changed("protected", at, quoted(text))))
		records = append(records, updated(changed("protected", at, quoted(text)), changed("protected", at, `"again nonsense"`)))
	}
	for _, name := range []string{"widgets.example.org", "Widgets.example.dev", ""} {
		records = append(records, created("plain", "/metadata/name", quoted(name)))
	}
	records = append(records, created("plain", "/metadata/generateName", `"w"`), created("plain", "/metadata/namespace", `"n"`), created("plain", "/metadata/labels", `{"a b":"c d"}`))
	for _, at := range []string{"plural", "singular", "kind", "listKind"} {
		for _, value := range []string{"", "Mixed", "a_b", "1a", "widget", strings.Repeat("x", 64)} {
			records = append(records, created("plain", "/spec/names/"+at, quoted(value)))
			records = append(records, created("versions", "/status/acceptedNames/"+at, quoted(value)))
		}
	}
	records = append(records, created("plain", "/spec/names/shortNames", `["ok","Bad","a.b",""]`), created("plain", "/spec/names/categories", `["ok","Bad","a.b",""]`), created("plain", "/spec/names/listKind", `"Widget"`))
	for _, scope := range []string{"", "Namespace", "cluster"} {
		records = append(records, created("plain", "/spec/scope", quoted(scope)))
	}
	records = append(records,
		created("plain", "/spec/preserveUnknownFields", "true"),
		created("rich", "/spec/preserveUnknownFields", "true"),
		created("plain", "/spec/preserveUnknownFields", "true", "/spec/conversion", `{"strategy":"Webhook"}`),
		created("plain", "/spec/conversion", `{}`),
		created("plain", "/spec/conversion", `{"strategy":"Other"}`),
		created("plain", "/spec/conversion", `{"strategy":"Webhook"}`),
		created("plain", "/spec/conversion", `{"strategy":"Webhook","webhook":{"clientConfig":{"url":"https://x.dev"},"conversionReviewVersions":["v1"]}}`),
		created("plain", "/spec/conversion", `{"strategy":"None","webhook":{"clientConfig":{"url":"https://x.dev"},"conversionReviewVersions":["v1"]}}`),
		created("plain", "/spec/conversion", `{"strategy":"None","webhook":{"conversionReviewVersions":[]}}`),
		created("plain", "/spec/versions", `[]`),
		created("plain", "/spec/versions", "-"),
		created("versions", "/spec/versions/1/storage", "true"),
		created("versions", "/spec/versions/0/storage", "false"),
		created("versions", "/spec/versions/1/name", `"v1"`),
		created("versions", "/spec/versions/1/name", `"V1"`),
		created("versions", "/spec/versions/0/name", `"V1"`),
		created("versions", "/spec/versions/1/served", "false"),
		created("versions", "/spec/versions/1", "-"),
		created("versions", "/status/storedVersions", `["v1","v2","v2"]`),
		created("versions", "/status/storedVersions", `["v1beta1"]`),
		created("versions", "/spec/versions/1/schema", "-"),
		created("versions", "/spec/versions/1/selectableFields", `[{"jsonPath":".spec.a"}]`),
		created("versions", "/spec/versions/1/selectableFields", `[{"jsonPath":".spec.b"}]`),
		created("versions", "/spec/versions/1/subresources", `{"status":{}}`, "/spec/versions/1/schema/openAPIV3Schema/allOf", `[{"required":["spec"]}]`),
		created("versions", "/spec/versions/1/schema/openAPIV3Schema/allOf", `[{"required":["spec"]}]`),
		created("versions", "/spec/versions/0/schema/openAPIV3Schema/allOf", `[{"required":["spec"]}]`),
		created("plain", "/spec/versions/0/schema", `{}`),
		created("plain", "/spec/versions/0/schema", "-"),
	)
	for _, warning := range []string{`"x"`, `""`, `"` + strings.Repeat("ä", 129) + `"`, `"a\nb"`, `"a\u200bb"`, `"a b c"`} {
		records = append(records, created("plain", "/spec/versions/0/deprecationWarning", warning), created("plain", "/spec/versions/0/deprecated", "true", "/spec/versions/0/deprecationWarning", warning))
	}
	for _, path := range []string{"", ".", "spec.a", ".spec", ".spec.a", ".status.a", ".metadata.name", "$.spec"} {
		for _, at := range []string{"subresources/scale/specReplicasPath", "subresources/scale/statusReplicasPath", "subresources/scale/labelSelectorPath", "additionalPrinterColumns/0/jsonPath"} {
			records = append(records, created("rich", "/spec/versions/0/"+at, quoted(path)))
		}
	}
	for _, path := range []string{"", ".", "..", "spec.color", ".spec", ".spec.color", ".spec.size", ".spec.weight", ".spec.tags", ".spec.tags[0]", ".spec.labels.a", ".spec.free.x", ".metadata.name", ".spec.['color']", ".spec.port", ".spec.nested.on", ".status.replicas", ".nothing", ".spec.color.", ".kind"} {
		records = append(records, created("rich", "/spec/versions/0/selectableFields/1/jsonPath", quoted(path)))
	}
	many, props := []string{}, []string{}
	for i := range 10 {
		many = append(many, fmt.Sprintf(`{"jsonPath":".spec.f%d"}`, i))
		props = append(props, fmt.Sprintf(`"f%d":{"type":"string"}`, i))
	}
	tooMany := changed("plain", fields, "{"+strings.Join(props, ",")+"}", "/spec/versions/0/selectableFields", "["+strings.Join(many, ",")+"]")
	fewer := changed("plain", fields, "{"+strings.Join(props, ",")+"}", "/spec/versions/0/selectableFields", "["+strings.Join(many[1:], ",")+"]")
	records = append(records, record{New: tooMany}, updated(tooMany, tooMany), updated(tooMany, fewer), updated(changed("plain"), tooMany))
	for _, at := range []string{"type", "format", "name"} {
		for _, value := range []string{"", "int", "date", "int32", "string"} {
			records = append(records, created("rich", "/spec/versions/0/additionalPrinterColumns/0/"+at, quoted(value)))
		}
	}
	for _, text := range schemas {
		records = append(records, created("plain", schema, text))
		records = append(records, created("rich", schema, text, "/spec/versions/0/selectableFields", "-"))
	}
	for _, text := range properties {
		records = append(records, created("plain", fields+"/x", text), created("rich", fields+"/x", text))
	}
	for _, rule := range rules {
		records = append(records, created("plain", fields+"/x", `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"object","additionalProperties":{"type":"string"}},"c.d":{"type":"string"}},"x-kubernetes-validations":[`+rule+`]}`))
	}
	return append(records, updates()...)
}

func updates() []record {
	established := []string{"/status/conditions", `[{"type":"Established","status":"True"}]`}
	with := func(base string, changes ...string) definition {
		return changed(base, append(changes, established...)...)
	}
	set := func(text string) definition { return changed("plain", fields+"/x", text) }
	granular := `{"type":"array","x-kubernetes-list-type":"set","items":{"type":"object","properties":{"a":{"type":"string"}}}}`
	keys := `{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"],"items":{"type":"object","nullable":true,"properties":{"a":{"type":"string"}}}}`
	unpruned := `{"type":"object","default":{"a":"x","b":1},"properties":{"a":{"type":"string"}}}`
	var records []record
	for _, broken := range []string{granular, keys, unpruned, `{"type":"strange"}`, `{"type":"string","nullable":true,"$ref":"x"}`} {
		records = append(records, updated(set(broken), set(broken)), updated(changed("plain"), set(broken)), updated(set(broken), changed("plain")))
		records = append(records, updated(set(broken), changed("plain", fields+"/x", broken, fields+"/y", granular)))
		records = append(records, updated(set(broken), changed("plain", fields+"/x", broken, fields+"/y", keys)))
		records = append(records, updated(set(broken), changed("plain", fields+"/x", broken, fields+"/y", unpruned)))
	}
	for _, c := range [][]string{
		{"/spec/scope", `"Cluster"`}, {"/spec/group", `"other.dev"`}, {"/spec/names/kind", `"Other"`}, {"/spec/names/plural", `"others"`},
		{"/spec/names/singular", `"other"`}, {"/spec/names/listKind", `"OtherList"`}, {"/spec/names/shortNames", `["x"]`}, {"/metadata/name", `"others.example.dev"`},
		{"/spec/versions/0/name", `"v2"`}, {"/spec/preserveUnknownFields", "true"}, {schema, "-"}, {"/spec/conversion", `{"strategy":"Webhook"}`},
	} {
		records = append(records, updated(changed("plain"), changed("plain", c...)), updated(with("plain"), with("plain", c...)))
	}
	records = append(records,
		updated(changed("plain", "/spec/preserveUnknownFields", "true"), changed("plain", "/spec/preserveUnknownFields", "true")),
		updated(changed("versions"), changed("versions", "/spec/versions/1", "-")),
		updated(changed("versions"), changed("versions", "/spec/versions/1", "-", "/status/storedVersions", `["v1"]`)),
		updated(changed("versions"), changed("versions", "/spec/versions/0/storage", "false", "/spec/versions/1/storage", "true")),
		updated(changed("versions"), changed("versions", "/spec/versions/0/storage", "false", "/spec/versions/1/storage", "true", "/status/storedVersions", `["v1"]`)),
		updated(changed("versions"), changed("versions", "/metadata/resourceVersion", "-")),
		updated(changed("plain", schema, "-"), changed("plain", schema, "-")),
		updated(changed("plain", schema, `{"type":"object","properties":{"a":{}}}`), changed("plain", schema, `{"type":"object","properties":{"a":{}}}`)),
	)
	return records
}

// Every part of a definition, taken away or replaced by what is of the same type; and every schema with one keyword more.
func mutations() []record {
	var records []record
	for _, base := range []string{"plain", "rich", "versions"} {
		var object any
		must(utiljson.Unmarshal([]byte(bases[base]), &object))
		var pointers []string
		visit(object, "", func(pointer string, value any) {
			pointers = append(pointers, pointer)
			if pointer == "" || strings.HasPrefix(pointer, "/metadata") || pointer == "/apiVersion" || pointer == "/kind" {
				return
			}
			records = append(records, created(base, pointer, "-"))
			switch value := value.(type) {
			case string:
				for _, other := range []string{"", "Other_Text", "object"} {
					records = append(records, created(base, pointer, quoted(other)))
				}
			case bool:
				records = append(records, created(base, pointer, fmt.Sprint(!value)))
			case []any:
				records = append(records, created(base, pointer, "[]"))
			case map[string]any:
				records = append(records, created(base, pointer, "{}"))
				if isSchema(pointer) {
					for _, more := range keywords {
						keyword, text, _ := strings.Cut(more, "=")
						if _, there := value[keyword]; !there && (base == "rich" || len(pointer) < 60) {
							records = append(records, created(base, pointer+"/"+strings.ReplaceAll(keyword, "/", "~1"), text))
						}
					}
				}
			}
		})
	}
	// One in four, which are several hundred; those by hand are all asked.
	var some []record
	for i, r := range records {
		if i%4 == 0 {
			some = append(some, r)
		}
	}
	return some
}

func isSchema(pointer string) bool {
	parts := strings.Split(pointer, "/")
	last := parts[len(parts)-1]
	if last == "openAPIV3Schema" || last == "items" || last == "additionalProperties" {
		return true
	}
	return len(parts) > 2 && (parts[len(parts)-2] == "properties" || parts[len(parts)-2] == "anyOf" || parts[len(parts)-2] == "oneOf")
}

func visit(value any, pointer string, see func(string, any)) {
	see(pointer, value)
	switch value := value.(type) {
	case map[string]any:
		var names []string
		for name := range value {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			visit(value[name], pointer+"/"+strings.ReplaceAll(name, "/", "~1"), see)
		}
	case []any:
		for i, item := range value {
			visit(item, fmt.Sprintf("%s/%d", pointer, i), see)
		}
	}
}

func quoted(text string) string { return string(encode(text)) }
