package main

import (
	"context"
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// What a column shows of an object, which the first entry has.
type shown struct {
	Object json.RawMessage `json:"object,omitempty"`

	Path string `json:"path"`
	Type string `json:"type"`
	// Whether the path can be read at all; without it there is no table.
	Error bool `json:"error,omitempty"`
	Cell  any  `json:"cell"`
}

const shownObject = `{"apiVersion":"example.dev/v1","kind":"Widget","metadata":{"name":"w","labels":{"a.b/c":"d","plain":"p"},"annotations":{"x":"y"},"creationTimestamp":"not a time"},
"spec":{"size":3,"weight":1.5,"whole":2.0,"huge":1e21,"on":true,"text":"t<x>","empty":"","nothing":null,"list":[1,2,3],"names":["a","b"],"items":[{"name":"x","value":1,"on":true},{"name":"y","value":2},{"name":"z","value":2.5,"deep":{"a":[{"b":"c"}]}}],"map":{"k":"v","l":{"m":"n"}},"when":"2020-01-01T00:00:00Z","dotted.key":"dk","negative":-7,"nested":[[1,2],[3]]},
"status":{"conditions":[{"type":"Ready","status":"True","reason":"Fine"},{"type":"Synced","status":"False"}]}}`

func tables() []shown {
	var out []shown
	for _, path := range shownPaths {
		for _, kind := range []string{"string", "integer", "number", "boolean", "date"} {
			// How long ago something was is not the same every time.
			if path != ".spec.when" || kind != "date" {
				out = append(out, show(path, kind))
			}
		}
	}
	out[0].Object = compact(shownObject)
	return out
}

func show(path, kind string) shown {
	result := shown{Path: path, Type: kind}
	convertor, err := tableconvertor.New([]apiextensionsv1.CustomResourceColumnDefinition{{Name: "C", Type: kind, JSONPath: path}})
	if err != nil {
		result.Error = true
		return result
	}
	var fields map[string]any
	must(utiljson.Unmarshal(json.RawMessage(shownObject), &fields))
	table, err := convertor.ConvertToTable(context.Background(), &unstructured.Unstructured{Object: fields}, nil)
	must(err)
	result.Cell = table.Rows[0].Cells[1]
	return result
}

var shownPaths = []string{
	".spec.size", ".spec.weight", ".spec.whole", ".spec.huge", ".spec.on", ".spec.text", ".spec.empty", ".spec.nothing", ".spec.absent", ".spec.absent.more", ".spec.list", ".spec.names", ".spec.map", ".spec.items", ".spec", ".", "", ".spec..name",
	".spec.list[0]", ".spec.list[-1]", ".spec.list[5]", ".spec.list[0:2]", ".spec.list[::2]", ".spec.list[1:]", ".spec.list[:1]", ".spec.list[-2:]", ".spec.list[*]", ".spec.names[*]", ".spec.list[0,2]", ".spec.items[0].name", ".spec.items[*].name", ".spec.items[1:].name", ".spec.items[5].name",
	".spec.items[?(@.name==\"y\")].value", ".spec.items[?(@.name=='y')].value", ".spec.items[?(@.value>1)].name", ".spec.items[?(@.value>=2)].name", ".spec.items[?(@.value<2)].name", ".spec.items[?(@.value!=1)].name", ".spec.items[?(@.on==true)].name", ".spec.items[?(@.on)].name", ".spec.items[?(@.deep.a[0].b==\"c\")].name", ".spec.items[?(@.value==2.5)].name", ".spec.items[?(@.absent==\"x\")].name", ".spec.items[?(@.value<=1)].name",
	".status.conditions[?(@.type==\"Ready\")].status", ".status.conditions[?(@.type==\"Synced\")].reason", ".status.conditions[?(@.type==\"Other\")].status", ".status.conditions[?(@.type=='Ready')].reason", ".status.conditions[*].type",
	".metadata.name", ".metadata.labels.plain", ".metadata.labels['a.b/c']", ".metadata.labels.a\\.b/c", ".metadata.labels[\"a.b/c\"]", ".spec['dotted.key']", ".spec.dotted\\.key", ".spec['size']", ".spec['size','weight']", ".spec.map.l.m", ".spec.when", ".metadata.creationTimestamp", ".spec.negative", ".spec.nested[0][1]", ".spec.nested[*][0]", ".spec.nested[0]",
	".spec.text.more", ".spec.size[0]", ".spec.map[0]", ".spec[", ".spec.list[", ".spec.list[a]", ".spec.list[0", ".spec.items[?(@.name)]", ".spec.items[?(", ".spec.items[?(@.name==)]", ".spec. size", ". spec.size", ".spec.size ", ".spec}", "{.spec.size}", ".spec.size}{.spec.on", "$.spec.size", "spec.size", "@.spec.size", "range .spec.list", ".spec.list[1:0]", ".spec.list[0:9]", ".spec.list[-9]", ".spec.list[0:2:0]", ".spec.list[0:3:-1]", ".spec.list[1,1]", ".kind", ".spec.items[*].deep.a[*].b", "..b", ".spec.items[?(@.name==\"x\")]", ".spec.items[?(@.name==\"x\" )].value", ".spec.items[?(\"x\"==@.name)].value", ".spec.items[?(@.value==1)].on", "'text'", "\"text\"",
}
