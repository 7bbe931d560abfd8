// Records what is wrong with the metadata of objects, when they are created and when they are updated.
package main

import (
	"encoding/json"
	"maps"
	"slices"
	"sort"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"bailiwick.dev/oracle/record"
)

type answer struct {
	New    map[string]any `json:"new"`
	Old    map[string]any `json:"old,omitempty"`
	Scope  string         `json:"scope,omitempty"`
	Rule   string         `json:"rule,omitempty"`
	Errors []string       `json:"errors"`
}

var rules = []struct {
	name  string
	check apivalidation.ValidateNameFunc
}{
	{"DnsSubdomain", apivalidation.NameIsDNSSubdomain},
	{"DnsLabel", apivalidation.NameIsDNSLabel},
	{"Dns1035Label", apivalidation.NameIsDNS1035Label},
	{"PathSegment", path.ValidatePathSegmentName},
}

var texts record.Texts

func main() {
	for _, message := range [][]string{validation.IsDNS1123Label("A"), validation.IsDNS1123Subdomain("A"), validation.IsDNS1035Label("A"),
		validation.IsQualifiedName("!"), validation.IsQualifiedName("a/b/c"), validation.IsValidLabelValue("!")} {
		texts.Know(message...)
	}
	source := record.New(2)
	var answers []answer
	for range 250 {
		rule := rules[source.Intn(len(rules))]
		a := answer{New: metadata(source), Rule: rule.name, Scope: source.Pick([]string{"Namespaced", "Cluster"})}
		a.Errors = list(apivalidation.ValidateObjectMetaAccessor(typed(a.New), a.Scope == "Namespaced", rule.check, field.NewPath("metadata")))
		answers = append(answers, a)
	}
	for range 250 {
		a := answer{New: metadata(source), Old: metadata(source)}
		for _, name := range slices.Sorted(maps.Keys(a.Old)) {
			if source.Intn(4) != 0 {
				a.New[name] = a.Old[name]
			}
		}
		a.Errors = list(apivalidation.ValidateObjectMetaAccessorUpdate(typed(a.New), typed(a.Old), field.NewPath("metadata")))
		answers = append(answers, a)
	}
	record.Write(map[string]any{"texts": texts.All()}, answers)
}

func typed(fields map[string]any) *metav1.ObjectMeta {
	var meta metav1.ObjectMeta
	if err := json.Unmarshal([]byte(record.Line(fields)), &meta); err != nil {
		panic(err)
	}
	return &meta
}

// Go walks maps in any order: errors of one field are sorted.
func list(errors field.ErrorList) []string {
	messages := []string{}
	for start := 0; start < len(errors); {
		end := start
		block := []string{}
		for ; end < len(errors) && errors[end].Field == errors[start].Field; end++ {
			block = append(block, texts.Shorten(errors[end].Error()))
		}
		sort.Strings(block)
		messages = append(messages, block...)
		start = end
	}
	return messages
}

func metadata(source record.Source) map[string]any {
	fields := map[string]any{}
	some := func(name string, likely int, make func() any) {
		if source.Intn(10) < likely {
			fields[name] = make()
		}
	}
	text := func(good ...string) func() any {
		return func() any {
			if source.Intn(8) == 0 {
				return source.Pick(record.Nasty)
			}
			return source.Pick(good)
		}
	}
	texts := func(names, values []string) func() any {
		return func() any {
			entries := map[string]string{}
			for range source.Intn(3) {
				name, value := source.Pick(names), source.Pick(values)
				if source.Intn(8) == 0 {
					name = source.Pick(record.Nasty)
				}
				if source.Intn(8) == 0 {
					value = source.Pick(record.Nasty)
				}
				entries[name] = value
			}
			return entries
		}
	}
	some("name", 9, text("a", "my-name", "a.b", "a:b", "9", "a-"))
	some("generateName", 2, text("a-", "my-name-", "a.-", "-", "A-"))
	some("namespace", 5, text("default", "kube-system", "a.b", "A"))
	some("uid", 5, func() any { return source.Pick([]string{"u1", "u2", "", "<&>", "\x01\u2028é"}) })
	some("resourceVersion", 8, func() any { return source.Pick([]string{"1", "2", ""}) })
	some("generation", 5, func() any { return source.Intn(5) - 1 })
	some("creationTimestamp", 5, func() any { return source.Pick([]string{"2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"}) })
	some("deletionTimestamp", 4, func() any { return source.Pick([]string{"2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z"}) })
	some("deletionGracePeriodSeconds", 3, func() any { return source.Intn(3) })
	some("labels", 5, texts([]string{"app", "example.com/x", "A"}, []string{"", "x", "a_b"}))
	some("annotations", 5, texts([]string{"note", "example.com/X", "Example.Com/x"}, []string{"", "anything at all"}))
	some("finalizers", 5, func() any {
		finalizers := []string{}
		for range source.Intn(4) {
			finalizers = append(finalizers, source.Pick([]string{"orphan", "foregroundDeletion", "example.com/f", "example.com/g", "bad!", "<b>", "a\"`\u200b"}))
		}
		return finalizers
	})
	some("ownerReferences", 4, func() any {
		owners := []map[string]any{}
		for range source.Intn(4) {
			owner := map[string]any{
				"apiVersion": source.Pick([]string{"v1", "apps/v1", "apps/v1", "", "/", "a/b/c", "a/", "/v1"}),
				"kind":       source.Pick([]string{"ConfigMap", "Deployment", "Event", "Event", ""}),
				"name":       source.Pick([]string{"a", "b", "<c>", ""}),
				"uid":        source.Pick([]string{"u1", "u2", ""}),
			}
			if source.Intn(2) == 0 {
				owner["controller"] = source.Intn(3) != 0
			}
			if source.Intn(3) == 0 {
				owner["blockOwnerDeletion"] = source.Intn(2) == 0
			}
			owners = append(owners, owner)
		}
		return owners
	})
	some("managedFields", 2, func() any {
		entries := []map[string]any{}
		for range source.Intn(3) {
			entries = append(entries, map[string]any{
				"manager":     source.Pick([]string{"kubectl", "", "a b", "a\u200bb", "a\nb\x00é", "\U000e0001", strings.Repeat("m", 128), strings.Repeat("m", 129)}),
				"operation":   source.Pick([]string{"Apply", "Update", "Update", "", "<x>"}),
				"fieldsType":  source.Pick([]string{"FieldsV1", "FieldsV1", "", "FieldsV2"}),
				"subresource": source.Pick([]string{"", "status", "status", "scale", strings.Repeat("s", 257)}),
			})
		}
		return entries
	})
	return fields
}
