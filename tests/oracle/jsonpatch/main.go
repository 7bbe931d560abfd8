// Command jsonpatch records what the JSON patch library of kube-apiserver makes of patches, set as kube-apiserver sets it,
// and what the API handler says of how they are written.
package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	kjson "sigs.k8s.io/json"

	"bailiwick.dev/oracle/internal/record"
)

// As in k8s.io/apiserver/pkg/endpoints/handlers/patch.go.
type jsonPatchOp struct {
	Op    string      `json:"op"`
	Path  string      `json:"path"`
	From  string      `json:"from"`
	Value interface{} `json:"value"`
}

func canonical(text []byte) string {
	var v any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &v); err != nil {
		return "unreadable: " + err.Error()
	}
	return record.Canon(v)
}

func texts(errs []error, prefix string) []string {
	all := []string{}
	for _, err := range errs {
		all = append(all, prefix+err.Error())
	}
	return all
}

// A case is [number of the document, patch, result, error, problems].
func operations(number int, patch string) (c any) {
	doc := docs[number]
	defer func() {
		if p := recover(); p != nil {
			c = []any{number, patch, "", fmt.Sprintf("panic: %v", p), []string{}}
		}
	}()
	var v []jsonPatchOp
	strict, err := kjson.UnmarshalStrict([]byte(patch), &v)
	if err != nil {
		return []any{number, patch, "", "error decoding patch: " + err.Error(), []string{}}
	}
	p, err := jsonpatch.DecodePatch([]byte(patch))
	if err != nil {
		return []any{number, patch, "", "decode: " + err.Error(), []string{}}
	}
	out, err := p.Apply([]byte(doc))
	if err != nil {
		return []any{number, patch, "", err.Error(), texts(strict, "json patch ")}
	}
	return []any{number, patch, canonical(out), "", texts(strict, "json patch ")}
}

func merge(number int, patch string) any {
	doc := docs[number]
	v := map[string]interface{}{}
	strict, err := kjson.UnmarshalStrict([]byte(patch), &v)
	if err != nil {
		return []any{number, patch, "", "error decoding patch: " + err.Error(), []string{}}
	}
	out, err := jsonpatch.MergePatch([]byte(doc), []byte(patch))
	if err != nil {
		return []any{number, patch, "", err.Error(), texts(strict, "")}
	}
	return []any{number, patch, canonical(out), "", texts(strict, "")}
}

var docs = []string{
	`{}`,
	`{"a":1}`,
	`{"a":{"b":{"c":1}},"d":[1,2,3]}`,
	`{"a":null,"l":[null,{"x":null}],"s":"t"}`,
	`{"a/b":1,"m~n":2,"":3,"~1":4,"-":5,"0":6}`,
	`{"l":[],"m":[[1],[2,[3]]],"o":{"l":[{"k":"a"},{"k":"b"}]}}`,
	`{"t":true,"f":1.5,"i":12345678901,"e":"é","n":{"":{"":1}}}`,
}

var paths = []string{"", "/", "a", "a/b", "/a", "/b", "/a/b", "/a/b/c", "/a/b/c/d", "/a/x/y", "/d", "/d/0", "/d/1", "/d/2", "/d/3", "/d/4", "/d/-", "/d/-1", "/d/-3", "/d/-4", "/d/-5", "/d/+1", "/d/01", "/d/1e0", "/d/x", "/d/", "/d/1/x", "/d/99999999999999999999", "/d/9223372036854775807", "/d/4294967295", "/d/-9223372036854775808", "/l", "/l/0", "/l/-", "/l/1/x", "/l/1/y", "/l/0/x", "/s", "/s/x", "/a~1b", "/m~0n", "/~01", "/~1", "/~0", "/~2", "/~", "//", "/a/", "/m/0", "/m/0/0", "/m/1/1/0", "/m/-1/-1", "/m/1/-", "/o/l/0/k", "/o/l/1", "/o/l/-1/k", "/o/l/2", "/o", "/-", "/0", "/t", "/f", "/i", "/e", "/n//", "/n/", "//x", "/é", "/a\"b", "/ a"}

var values = []string{`1`, `2`, `1.0`, `1.5`, `"t"`, `"é"`, `null`, `true`, `{}`, `[]`, `{"b":{"c":1}}`, `{"c":1}`, `[1,2,3]`, `[3,2,1]`, `[1,2]`, `{"x":null}`, `{"k":"a"}`, `12345678901`, `[2,[3]]`, `{"l":[{"k":"a"},{"k":"b"}]}`, `"\u0074"`}

var patches = []string{
	``, `{}`, `null`, `[]`, `1`, `"a"`, `true`, `[1]`, `[null]`, `["a"]`, `[[]]`, `[{}]`, `[`, `[{]`, `[{"op":"add"}]`, `[{"op":"remove"}]`, `[{"op":"replace"}]`, `[{"op":"move"}]`, `[{"op":"copy"}]`, `[{"op":"test"}]`, `[{"op":"move","from":"/a"}]`, `[{"op":"copy","from":"/a"}]`, `[{"op":"move","path":"/a"}]`, `[{"op":"copy","path":"/a"}]`, `[{"path":"/a","value":1}]`, `[{"op":null,"path":"/a"}]`, `[{"op":"Add","path":"/a","value":1}]`, `[{"op":"","path":"/a"}]`, `[{"op":1,"path":"/a"}]`, `[{"op":"add","path":1}]`, `[{"op":"add","path":null,"value":1}]`, `[{"op":"add","path":["a"],"value":1}]`, `[{"op":"move","from":{},"path":"/a"}]`, `[{"op":"copy","from":null,"path":"/a"}]`, `[{"op":"add","path":"/x"}]`, `[{"op":"replace","path":"/a"}]`, `[{"op":"test","path":"/a"}]`, `[{"op":"test","path":"/nope"}]`, `[{"op":"test","path":""}]`, `[{"op":"replace","path":"","value":null}]`, `[{"op":"replace","path":"","value":1}]`, `[{"op":"replace","path":"","value":[1]}]`, `[{"op":"replace","path":"","value":{"z":1}}]`, `[{"op":"replace","path":"","value":[1]},{"op":"add","path":"/-","value":2}]`, `[{"op":"add","path":"/x","value":1,"extra":2}]`, `[{"op":"add","path":"/x","path":"/y","value":1}]`, `[{"op":"add","path":"/x","value":{"p":1,"p":2}}]`, `[{"OP":"add","op":"add","path":"/x","value":1}]`, `[{"op":"add","path":"/x","value":1}] x`, `[{"op":"add","path":"/x","value":1e999}]`,
	`[{"op":"add","path":"/x","value":[]},{"op":"add","path":"/x/-","value":1},{"op":"add","path":"/x/0","value":0},{"op":"move","from":"/x","path":"/y"},{"op":"test","path":"/y","value":[0,1]}]`,
	`[{"op":"add","path":"/x","value":null},{"op":"test","path":"/x","value":null}]`, `[{"op":"add","path":"/x","value":null},{"op":"add","path":"/x/y","value":1}]`, `[{"op":"copy","from":"/nope","path":"/x"}]`, `[{"op":"move","from":"/a","path":"/a/b"}]`, `[{"op":"copy","from":"/a","path":"/a/z"}]`, `[{"op":"move","from":"/d/0","path":"/d/2"}]`, `[{"op":"move","from":"/d/0","path":"/d/3"}]`, `[{"op":"copy","from":"/d/0","path":"/d/-"}]`, `[{"op":"copy","from":"/d/9","path":"/x"}]`, `[{"op":"copy","from":"/d/x","path":"/x"}]`, `[{"op":"copy","from":"/d","path":"/d/x"}]`, `[{"op":"copy","from":"/d","path":"/nope/x"}]`, `[{"op":"remove","path":"/a"},{"op":"remove","path":"/a"}]`, `[{"op":"add","path":"/x","value":{}},{"op":"add","path":"/x/y","value":{}},{"op":"add","path":"/x/y/z","value":1}]`, `[{"op":"replace","path":"/nope","value":1}]`, `[{"op":"test","path":"/a","value":1},{"op":"remove","path":"/a"}]`, `[{"op":"move","from":"/nope","path":"/x"}]`, `[{"op":"move","from":"","path":"/x"}]`, `[{"op":"copy","from":"","path":"/x"}]`, `[{"op":"remove","path":""}]`, `[{"op":"add","path":"","value":{}}]`,
}

var merges = []string{``, `{`, `null`, `[]`, `1`, `"a"`, `{}`, `{"a":null}`, `{"a":{"b":null}}`, `{"a":{"b":{"c":null}}}`, `{"a":{"b":{"c":null,"d":1}}}`, `{"x":{"y":null}}`, `{"x":{"y":{"z":null,"w":1}}}`, `{"x":[{"y":null},null]}`, `{"d":[{"y":null},null]}`, `{"a":[{"y":null},null]}`, `{"a":[[{"y":null}]]}`, `{"l":{"q":null,"r":[{"z":null}]}}`, `{"s":{"q":null}}`, `{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `{"":null}`, `{"n":{"":null}}`, `{"n":{"":{"":2}}}`, `{"o":{"l":[]}}`, `{"o":{"l":null,"m":{}}}`, `{"f":1.0,"i":1e3,"t":1e999}`, `{"a":"<b>"}`, `{"metadata":{"labels":{"a":null,"b":"c"}}}`, `{"a":{"b":5}}`, `{"a":{"b":[null]}}`, `{"a":{"b":{"c":{"d":null}}}}`, `{"d":{"0":9}}`}

func main() {
	jsonpatch.AccumulatedCopySizeLimit = 3 * 1024 * 1024
	r := rand.New(rand.NewSource(1))
	sections := map[string][]any{}
	seen := map[string]bool{}
	add := func(section string, number int, patch string, f func(number int, patch string) any) {
		if key := fmt.Sprint(section, number, patch); !seen[key] {
			seen[key] = true
			sections[section] = append(sections[section], f(number, patch))
		}
	}
	for i, p := range patches {
		add("json", 2, p, operations)
		add("json", i%len(docs), p, operations)
	}
	quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	op := func() string {
		path, from, value := quote(paths[r.Intn(len(paths))]), quote(paths[r.Intn(len(paths))]), values[r.Intn(len(values))]
		switch r.Intn(6) {
		case 0:
			return fmt.Sprintf(`{"op":"add","path":%s,"value":%s}`, path, value)
		case 1:
			return fmt.Sprintf(`{"op":"remove","path":%s}`, path)
		case 2:
			return fmt.Sprintf(`{"op":"replace","path":%s,"value":%s}`, path, value)
		case 3:
			return fmt.Sprintf(`{"op":"move","from":%s,"path":%s}`, from, path)
		case 4:
			return fmt.Sprintf(`{"op":"copy","from":%s,"path":%s}`, from, path)
		default:
			return fmt.Sprintf(`{"op":"test","path":%s,"value":%s}`, path, value)
		}
	}
	for _, path := range paths {
		for j := range docs {
			value := values[(len(path)+j)%len(values)]
			add("json", j, fmt.Sprintf(`[{"op":"add","path":%s,"value":%s}]`, quote(path), value), operations)
			if j%2 == 0 {
				add("json", j, fmt.Sprintf(`[{"op":"remove","path":%s}]`, quote(path)), operations)
				add("json", j, fmt.Sprintf(`[{"op":"replace","path":%s,"value":%s}]`, quote(path), value), operations)
			}
		}
	}
	for i := 0; i < 800; i++ {
		var ops []string
		for n := 1 + r.Intn(3); n > 0; n-- {
			ops = append(ops, op())
		}
		add("json", r.Intn(len(docs)), "["+strings.Join(ops, ",")+"]", operations)
	}
	for _, m := range merges {
		for j := range docs {
			add("merge", j, m, merge)
		}
	}
	for i := 0; i < 400; i++ {
		add("merge", r.Intn(len(docs)), random(r, 3), merge)
	}
	for _, doc := range docs {
		sections["docs"] = append(sections["docs"], doc)
	}
	record.Write(sections)
}

func random(r *rand.Rand, depth int) string {
	var parts []string
	for n := r.Intn(4); n > 0; n-- {
		value := values[r.Intn(len(values))]
		if depth > 0 && r.Intn(2) == 0 {
			value = random(r, depth-1)
		}
		if r.Intn(5) == 0 {
			value = "[" + value + "]"
		}
		parts = append(parts, fmt.Sprintf("%q:%s", []string{"a", "b", "c", "d", "l", "o", "s", "x"}[r.Intn(8)], value))
	}
	return "{" + strings.Join(parts, ",") + "}"
}
