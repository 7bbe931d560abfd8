// Schema records what Kubernetes makes of objects under structural schemas: which schemas it takes, what it prunes,
// what it fills in and what it calls wrong.
//
//	go run ./schema cases > ../data/go/schema-cases.json
//	go run ./schema embedded > ../data/go/schema-embedded.json
//	go run ./schema formats > ../data/go/schema-formats.json
//	go run ./schema patterns > ../data/go/schema-patterns.json
//	go run ./schema structural > ../data/go/schema-structural.json
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A group of objects under one schema.
type group struct {
	Schema  json.RawMessage `json:"schema"`
	Objects []answer        `json:"objects"`
}

type answer struct {
	Object json.RawMessage `json:"object"`
	// What of the object is not in the schema, and the object without it; absent if nothing is.
	Unknown []string `json:"unknown,omitempty"`
	Pruned  any      `json:"pruned,omitempty"`
	// The pruned object without the nulls that mean nothing, with defaults; absent if that changes nothing.
	Defaulted any `json:"defaulted,omitempty"`
	// What is wrong with the object as it came, before pruning: type, field, message.
	Errors [][3]string `json:"errors,omitempty"`
	// The old object, if this one takes its place, and what is wrong then.
	Old          json.RawMessage `json:"old,omitempty"`
	UpdateErrors [][3]string     `json:"updateErrors,omitempty"`
}

func main() {
	var out any
	switch os.Args[1] {
	case "cases":
		out = cases()
	case "embedded":
		out = embedded()
	case "formats":
		out = formats()
	case "patterns":
		out = patterns()
	case "structural":
		out = structural()
	}
	printLines(out)
}

// One line for each entry, so that a change shows as such.
func printLines(out any) {
	var entries []json.RawMessage
	must(json.Unmarshal(encode(out), &entries))
	fmt.Println("[")
	for i, entry := range entries {
		comma := ","
		if i == len(entries)-1 {
			comma = ""
		}
		fmt.Printf("%s%s\n", entry, comma)
	}
	fmt.Println("]")
}

func parse(schema json.RawMessage) (*apiextensions.JSONSchemaProps, *structuralschema.Structural, error) {
	var v1 apiextensionsv1.JSONSchemaProps
	if err := utiljson.Unmarshal(schema, &v1); err != nil {
		return nil, nil, err
	}
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &props, nil); err != nil {
		return nil, nil, err
	}
	structural, err := structuralschema.NewStructural(&props)
	return &props, structural, err
}

func ask(schema json.RawMessage, object json.RawMessage, old json.RawMessage) (answer, bool) {
	props, structural, err := parse(schema)
	must(err)
	result := answer{Object: object, Old: old}

	pruned := decode(object)
	result.Unknown = pruning.PruneWithOptions(pruned, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if len(result.Unknown) > 0 {
		result.Pruned = runtime.DeepCopyJSONValue(pruned)
	}
	before := string(encode(pruned))
	defaulting.PruneNonNullableNullsWithoutDefaults(pruned, structural)
	defaulting.Default(pruned, structural)
	if string(encode(pruned)) != before {
		result.Defaulted = pruned
	}

	validator, _, err := validation.NewSchemaValidator(props)
	must(err)
	value := decode(object)
	errs := validation.ValidateCustomResource(nil, value, validator)
	errs = append(errs, objectmeta.Validate(nil, value, structural, false)...)
	if fields, ok := value.(map[string]any); ok {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, structural, fields)...)
	}
	result.Errors = record(errs)
	if old != nil {
		before := decode(old)
		errs := validation.ValidateCustomResourceUpdate(nil, value, before, validator, validation.WithRatcheting(nil))
		errs = append(errs, objectmeta.Validate(nil, value, structural, false)...)
		if len(listtype.ValidateListSetsAndMaps(nil, structural, before.(map[string]any))) == 0 {
			errs = append(errs, listtype.ValidateListSetsAndMaps(nil, structural, value.(map[string]any))...)
		}
		result.UpdateErrors = record(errs)
	}
	return result, len(errs) > 0
}

func record(errs field.ErrorList) [][3]string {
	var records [][3]string
	for _, err := range errs {
		records = append(records, [3]string{string(err.Type), err.Field, err.ErrorBody()})
	}
	// Upstream's order is that of its maps.
	sort.Slice(records, func(i, j int) bool { return fmt.Sprint(records[i]) < fmt.Sprint(records[j]) })
	return records
}

func decode(data json.RawMessage) any {
	var value any
	must(utiljson.Unmarshal(data, &value))
	return value
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
