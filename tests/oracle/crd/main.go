// Crd records what Kubernetes makes of definitions of custom resources: the values of what they leave out, and what it
// calls wrong with them when they are created and updated; what it tells of their kinds in documents, and what it shows
// of their objects in tables; and what becomes of the names they want.
//
//	go run ./crd rules > ../data/go/crd.json
//	go run ./crd documents > ../data/go/crd-documents.json
//	go run ./crd names > ../data/go/crd-names.json
//	go run ./crd tables > ../data/go/crd-tables.json
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// One change of a definition: a pointer, and the value there. Without a value it is removed.
type change struct {
	At    string          `json:"at"`
	Value json.RawMessage `json:"value,omitempty"`
}

type definition struct {
	Base    string   `json:"base"`
	Changes []change `json:"changes,omitempty"`
}

type record struct {
	New definition `json:"new"`
	// The definition whose place it takes, if it is not created.
	Old *definition `json:"old,omitempty"`
	// Type, field and message.
	Errors [][3]string `json:"errors,omitempty"`
}

type defaulted struct {
	Object json.RawMessage `json:"object"`
	Result json.RawMessage `json:"result"`
}

type recording struct {
	Bases    map[string]json.RawMessage
	Defaults []defaulted
	Records  []record
}

func main() {
	switch os.Args[1] {
	case "rules":
		rulesOfDefinitions()
	case "documents":
		printLines(documents())
	case "names":
		printLines(names())
	case "tables":
		printLines(tables())
	}
}

func rulesOfDefinitions() {
	out := recording{Bases: map[string]json.RawMessage{}}
	for name, text := range bases {
		out.Bases[name] = compact(text)
	}
	for _, text := range incomplete {
		out.Defaults = append(out.Defaults, defaults(compact(text)))
	}
	known := map[string]bool{}
	for _, r := range append(byHand(), mutations()...) {
		key := string(encode(r))
		if known[key] {
			continue
		}
		known[key] = true
		if answer, ok := ask(r); ok {
			out.Records = append(out.Records, answer)
		}
	}
	print(out)
}

// One line for each entry, so that a change shows as such.
func print(out recording) {
	fmt.Println(`{"bases":{`)
	var names []string
	for name := range out.Bases {
		names = append(names, name)
	}
	sort.Strings(names)
	for i, name := range names {
		fmt.Printf("%q:%s%s\n", name, out.Bases[name], comma(i, len(names)))
	}
	fmt.Println(`},"defaults":[`)
	for i, entry := range out.Defaults {
		fmt.Printf("%s%s\n", encode(entry), comma(i, len(out.Defaults)))
	}
	fmt.Println(`],"records":[`)
	for i, entry := range out.Records {
		fmt.Printf("%s%s\n", encode(entry), comma(i, len(out.Records)))
	}
	fmt.Println(`]}`)
}

func printLines[T any](entries []T) {
	fmt.Println("[")
	for i, entry := range entries {
		fmt.Printf("%s%s\n", encode(entry), comma(i, len(entries)))
	}
	fmt.Println("]")
}

func comma(i, length int) string {
	if i == length-1 {
		return ""
	}
	return ","
}

// What upstream says. False if it cannot read the definition, or falls over it.
func ask(r record) (answer record, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	object, err := read(r.New.object())
	if err != nil {
		return r, false
	}
	var errs field.ErrorList
	if r.Old == nil {
		errs = validation.ValidateCustomResourceDefinition(context.Background(), object)
	} else {
		old, err := read(r.Old.object())
		if err != nil {
			return r, false
		}
		errs = validation.ValidateCustomResourceDefinitionUpdate(context.Background(), object, old)
	}
	for _, err := range errs {
		r.Errors = append(r.Errors, [3]string{string(err.Type), err.Field, err.ErrorBody()})
	}
	// Upstream's order is that of its maps.
	sort.Slice(r.Errors, func(i, j int) bool { return fmt.Sprint(r.Errors[i]) < fmt.Sprint(r.Errors[j]) })
	return r, true
}

func read(object any) (*apiextensions.CustomResourceDefinition, error) {
	var v1 apiextensionsv1.CustomResourceDefinition
	if err := utiljson.Unmarshal(encode(object), &v1); err != nil {
		return nil, err
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(&v1)
	var internal apiextensions.CustomResourceDefinition
	err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&v1, &internal, nil)
	return &internal, err
}

func defaults(object json.RawMessage) defaulted {
	var v1 apiextensionsv1.CustomResourceDefinition
	must(utiljson.Unmarshal(object, &v1))
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(&v1)
	return defaulted{Object: object, Result: encode(v1)}
}

func (d definition) object() any {
	var object any
	must(utiljson.Unmarshal(compact(bases[d.Base]), &object))
	for _, change := range d.Changes {
		if change.Value == nil {
			object = set(object, steps(change.At), nil, true)
			continue
		}
		var value any
		must(utiljson.Unmarshal(change.Value, &value))
		object = set(object, steps(change.At), value, false)
	}
	return object
}

func steps(pointer string) []string {
	parts := strings.Split(pointer, "/")[1:]
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
	}
	return parts
}

func set(at any, steps []string, value any, remove bool) any {
	if len(steps) == 0 {
		return runtime.DeepCopyJSONValue(value)
	}
	switch at := at.(type) {
	case map[string]any:
		if remove && len(steps) == 1 {
			delete(at, steps[0])
			return at
		}
		at[steps[0]] = set(at[steps[0]], steps[1:], value, remove)
		return at
	case []any:
		i, err := strconv.Atoi(steps[0])
		must(err)
		if remove && len(steps) == 1 {
			return append(at[:i:i], at[i+1:]...)
		}
		if i == len(at) {
			at = append(at, nil)
		}
		at[i] = set(at[i], steps[1:], value, remove)
		return at
	default:
		return set(map[string]any{}, steps, value, remove)
	}
}

func compact(text string) json.RawMessage {
	var value any
	must(utiljson.Unmarshal([]byte(text), &value))
	return encode(value)
}

func encode(value any) json.RawMessage {
	data, err := json.Marshal(value)
	must(err)
	return data
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
