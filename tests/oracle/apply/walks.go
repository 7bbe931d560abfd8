package main

import (
	"bytes"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

var elementTexts = []string{
	"", "f", "f:", "f:a", "f:a.b", "f:é", "f:a\"b", "f:<&>", "fa", "é", "ab:c", ":", ".", "x:", "x:1", "F:a", " f:a",
	"v:1", "v:1.0", "v:1.5", "v:-0", "v:1e3", "v:1e21", "v:1e-7", "v:-2.3532530454020998e+260", "v:12345678901234567890", "v:9007199254740993", "v:true", "v:null", `v:"a"`, `v:"<&>"`, `v:"é\u2028"`, `v:"\b\f\n\r\t\u0001\u007f"`, `v:"a\"b\\c"`, `v:""`, "v:", "v:x", `v:"a`, "v:[1,2]", `v:{"a":[true,null,1]}`, "v:1 2", "v: 1",
	`k:{"name":"a"}`, `k:{"b":1,"a":2}`, `k:{"a":1.5,"b":true,"c":null}`, `k:{}`, "k:null", "k:", "k:1", "k:[]", `k:{"a"}`, `k:{"a":}`, `k:{"<":"<"}`, `k:{"a":"x\u2029"}`, `k: {"a" : 1}`, `k:{"a":[1]}`,
	"i:0", "i:12", "i:-1", "i:+1", "i:007", "i:", "i:a", "i:1.5", "i:99999999999999999999",
}

// A case is [text, text again, as messages have it, error].
func elements() []any {
	var all []any
	for _, text := range elementTexts {
		pe, err := fieldpath.DeserializePathElement(text)
		if err != nil {
			all = append(all, l{text, nil, nil, err == fieldpath.ErrUnknownPathElementType})
			continue
		}
		again, err := fieldpath.SerializePathElement(pe)
		must(err)
		all = append(all, l{text, again, pe.String(), false})
	}
	return all
}

var setTexts = []string{
	`{}`, `null`, `{"f:a":null}`, `{"f:a":{}}`, `{"f:a":{".":{}}}`, `{"f:a":{".":{},"f:b":{}}}`, `{"f:a":{"f:b":{}}}`, `{"f:a":{"x:b":{}}}`, `{"x:a":{"f:b":1}}`, `{"f:a":{".":1}}`, `{"f:b":{},"f:a":{}}`, `{".":{}}`, `{".":{},"f:a":{}}`,
	`{"f:a":1}`, `{"f:a":[]}`, `{"f:a":"b"}`, `[]`, `1`, `"a"`, `{"a":{}}`, `{"f:a":{"b":{}}}`, `{"k:1":{}}`, `{"i:x":{}}`,
	`{"f:l":{"k:{\"n\":10}":{".":{},"f:x":{}},"k:{\"n\":9}":{".":{}},"k:{\"n\":\"9\"}":{},"v:1":{},"v:\"a\"":{},"v:true":{},"v:10":{},"v:9":{},"i:3":{},"i:10":{},"f:z":{}}}`,
	`{"f:l":{"k:{\"n\":10.0}":{".":{},"f:y":{}},"v:9.0":{},"i:3":{"f:q":{}}}}`,
	`{"f:l":{".":{},"k:{\"n\":9}":{"f:x":{}}},"f:a":{"f:b":{".":{},"f:c":{}}}}`,
	`{"f:a":{"f:b":{}},"f:l":{}}`,
}

func readSet(text string) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	err := set.FromJSON(bytes.NewReader([]byte(text)))
	return set, err
}

func writeSet(set *fieldpath.Set) string {
	text, err := set.ToJSON()
	must(err)
	return string(text)
}

func lines(set *fieldpath.Set) []string {
	text := set.String()
	if text == "" {
		return []string{}
	}
	return strings.Split(text, "\n")
}

// A case is either [text] of what is no set, or [a, b, a again, paths of a, union, intersection, difference, recursive
// difference].
func sets(r generator) []any {
	var all []any
	texts := append([]string{}, setTexts...)
	for range 40 {
		texts = append(texts, string(encode(r.fieldSet(3))))
	}
	pair := func(a, b string) {
		left, err := readSet(a)
		if err != nil {
			return
		}
		right, err := readSet(b)
		if err != nil {
			return
		}
		all = append(all, l{a, b, writeSet(left), lines(left), writeSet(left.Union(right)), writeSet(left.Intersection(right)), writeSet(left.Difference(right)), writeSet(left.RecursiveDifference(right))})
	}
	for i, a := range texts {
		if _, err := readSet(a); err != nil {
			all = append(all, l{a})
		}
		for j, b := range texts {
			if (i+j)%8 == 0 {
				pair(a, b)
			}
		}
	}
	return all
}

func (r generator) fieldSet(depth int) m {
	set := m{}
	for range r.Intn(4) {
		element := pick(r, "f:a", "f:b", "f:c", `k:{"name":"a"}`, `k:{"name":"b"}`, `v:1`, `v:"x"`, "i:1")
		if depth > 0 && r.chance(60) {
			set[element] = r.fieldSet(depth - 1)
		} else {
			set[element] = m{}
		}
	}
	if len(set) > 0 && r.chance(40) {
		set["."] = m{}
	}
	return set
}

type walked struct {
	A any `json:"a"`
	B any `json:"b"`
	// What is wrong with b, where nothing may occur twice, and where anything may.
	Strict  string `json:"strict,omitempty"`
	Lenient string `json:"lenient,omitempty"`
	// The fields of b; b over a; what differs in b; a without some fields.
	Set      string `json:"set,omitempty"`
	Merged   any    `json:"merged,omitempty"`
	Added    string `json:"added,omitempty"`
	Modified string `json:"modified,omitempty"`
	Removed  string `json:"removed,omitempty"`
	Fields   string `json:"fields,omitempty"`
	Without  any    `json:"without,omitempty"`
}

type walkedGroup struct {
	Schema any      `json:"schema"`
	Cases  []walked `json:"cases"`
}

// The text of an error if it is always the same: with several errors it is not.
func steady(ask func() error) string {
	text := ""
	for i := range 12 {
		err := ask()
		if err == nil {
			return ""
		}
		if i > 0 && err.Error() != text {
			return "*"
		}
		text = err.Error()
	}
	return text
}

func values(r generator) []any {
	var all []any
	for i := range 45 {
		root := everything()
		if i >= 5 {
			root = r.rootSchema()
		}
		w := newWorld(map[string]m{"v1": root}, false)
		g := walkedGroup{Schema: root}
		a := r.object(root, "v1", 0)
		for range 8 {
			b := r.object(root, "v1", 4)
			if r.chance(50) {
				b = r.mixed(a, b)
			}
			if c := w.walk(r, a, b); c != nil {
				g.Cases = append(g.Cases, *c)
			}
			if r.chance(50) {
				a = r.object(root, "v1", 0)
			}
		}
		all = append(all, g)
	}
	return all
}

func (w *world) typed(object m, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	copied := decode(encode(object))
	return w.converter.ObjectToTyped(&unstructured.Unstructured{Object: copied}, options...)
}

func (w *world) walk(r generator, a, b m) *walked {
	c := &walked{A: a, B: b}
	c.Strict = steady(func() error { _, err := w.typed(b); return err })
	c.Lenient = steady(func() error { _, err := w.typed(b, typed.AllowDuplicates); return err })
	left, err := w.typed(a, typed.AllowDuplicates)
	if err != nil {
		return nil
	}
	right, err := w.typed(b, typed.AllowDuplicates)
	if err != nil {
		return c
	}
	set, err := right.ToFieldSet()
	must(err)
	c.Set = writeSet(set)
	comparison, err := left.Compare(right)
	must(err)
	c.Added, c.Modified, c.Removed = writeSet(comparison.Added), writeSet(comparison.Modified), writeSet(comparison.Removed)
	if c.Strict == "" {
		merged, err := left.Merge(right)
		must(err)
		c.Merged = merged.AsValue().Unstructured()
	}
	own, err := left.ToFieldSet()
	must(err)
	some := fieldpath.NewSet()
	own.Iterate(func(p fieldpath.Path) {
		if p[0].FieldName != nil && *p[0].FieldName != "spec" && *p[0].FieldName != "metadata" || len(p) < 2 {
			return
		}
		if r.chance(20) {
			some.Insert(p[:1+r.Intn(len(p))].Copy())
		}
	})
	c.Fields = writeSet(some)
	c.Without = left.RemoveItems(some).AsValue().Unstructured()
	return c
}
