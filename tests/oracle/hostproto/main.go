// Command hostproto records what Go makes of objects of Kubernetes' own kinds: their protobuf for their JSON, what it reads
// from bytes that were changed, and what it says of JSON whose values have other types.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math/rand"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"bailiwick.dev/oracle/internal/hostkinds"
	"bailiwick.dev/oracle/internal/record"
)

var (
	scheme = hostkinds.Scheme()
	random = rand.New(rand.NewSource(7))
)

type message interface {
	runtime.Object
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// A case is [apiVersion, kind, JSON, protobuf].
func objects(kinds []runtime.Object) (cases []any) {
	for _, kind := range kinds {
		count, filler := 50, hostkinds.Filler{Rand: random, Fields: 3}
		name := reflect.TypeOf(kind).Elem().Name()
		switch {
		case strings.HasSuffix(name, "List"):
			count, filler.Fields = 10, 2
		case name == "PodTemplate":
			count, filler.Fields = 500, 4
		}
		for range count {
			cases = append(cases, object(kind, filler))
		}
	}
	return cases
}

func object(kind runtime.Object, filler hostkinds.Filler) any {
	made := blank(kind)
	filler.Fill(reflect.ValueOf(made).Elem(), 9)
	// Only what JSON can say can be compared.
	read := blank(kind)
	must(kjson.UnmarshalCaseSensitivePreserveInts(encode(made), read))
	proto, err := read.Marshal()
	must(err)
	// Nothing and a list without items are the same on the wire.
	again := blank(kind)
	must(again.Unmarshal(proto))
	apiVersion, name := hostkinds.GVK(scheme, kind).ToAPIVersionAndKind()
	return []any{apiVersion, name, json.RawMessage(encode(again)), base64.StdEncoding.EncodeToString(proto)}
}

// A case is [apiVersion, kind, protobuf, JSON or null, error].
func damaged(kinds []runtime.Object, count int) (cases []any) {
	filler := hostkinds.Filler{Rand: random, Fields: 2}
	for len(cases) < count {
		kind := kinds[random.Intn(len(kinds))]
		made := blank(kind)
		filler.Fill(reflect.ValueOf(made).Elem(), 7)
		proto, err := made.Marshal()
		must(err)
		if len(proto) == 0 || len(proto) > 150 {
			continue
		}
		cases = append(cases, read(kind, damage(proto)))
	}
	return cases
}

func damage(proto []byte) []byte {
	insert := func(part ...byte) {
		at := random.Intn(len(proto) + 1)
		proto = append(proto[:at:at], append(part, proto[at:]...)...)
	}
	for range 1 + random.Intn(2) {
		switch random.Intn(8) {
		case 0:
			proto = proto[:random.Intn(len(proto)+1)]
		case 1:
			insert(byte(random.Intn(256)))
		case 2:
			// Fields that nobody knows, and groups of them.
			insert(0x9a, 0x06, 0x02, 'h', 'i')
		case 3:
			insert(0x9b, 0x06, 0x08, 0x01, 0x9c, 0x06)
		case 4:
			proto = append(proto, proto...)
		case 5:
			proto = append(proto, 0x9d, 0x06, 1, 2, 3, 4, 0x99, 0x06, 1, 2, 3, 4, 5, 6, 7, 8)
		default:
			if len(proto) > 0 {
				proto[random.Intn(len(proto))] = byte(random.Intn(256))
			}
		}
	}
	return proto
}

func read(kind runtime.Object, proto []byte) any {
	apiVersion, name := hostkinds.GVK(scheme, kind).ToAPIVersionAndKind()
	into := blank(kind)
	result := []any{apiVersion, name, base64.StdEncoding.EncodeToString(proto), nil, ""}
	if err := into.Unmarshal(proto); err != nil {
		result[4] = err.Error()
		return result
	}
	written, err := json.Marshal(into)
	if err != nil {
		result[4] = "json: " + err.Error()
		return result
	}
	result[3] = json.RawMessage(written)
	return result
}

// A case is [apiVersion, kind, JSON, JSON as it is read or null, error, problems].
func typed(kinds []runtime.Object, count int) (cases []any) {
	filler := hostkinds.Filler{Rand: random, Fields: 3}
	for len(cases) < count {
		kind := kinds[random.Intn(len(kinds))]
		made := blank(kind)
		filler.Fill(reflect.ValueOf(made).Elem(), 8)
		var tree any
		decoder := json.NewDecoder(bytes.NewReader(encode(made)))
		decoder.UseNumber()
		must(decoder.Decode(&tree))
		var places []func(any)
		collect(tree, &places)
		if len(places) == 0 {
			continue
		}
		values := []any{nil, true, 7, 1.5, -3e9, 1e30, "text", "", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.123456+01:00",
			"12:30", "YWI", "YWI=", "YWJj\n", "Y!", "10Mi", "1.0000k", []any{}, []any{nil}, []any{"x"}, map[string]any{},
			map[string]any{"name": "x", "unknown": 1}, map[string]any{"a": nil}}
		places[random.Intn(len(places))](values[random.Intn(len(values))])
		text, err := json.Marshal(tree)
		must(err)
		if len(text) > 350 {
			continue
		}
		cases = append(cases, readJSON(kind, text))
	}
	return cases
}

// collect finds all places where a value could be another one.
func collect(tree any, places *[]func(any)) {
	switch tree := tree.(type) {
	case map[string]any:
		for _, name := range record.SortedKeys(tree) {
			*places = append(*places, func(value any) { tree[name] = value })
			collect(tree[name], places)
		}
		*places = append(*places, func(value any) { tree["unknown"] = value })
	case []any:
		for i := range tree {
			*places = append(*places, func(value any) { tree[i] = value })
			collect(tree[i], places)
		}
	}
}

func readJSON(kind runtime.Object, text []byte) any {
	apiVersion, name := hostkinds.GVK(scheme, kind).ToAPIVersionAndKind()
	into := blank(kind)
	problems, err := kjson.UnmarshalStrict(text, into)
	if err != nil {
		return []any{apiVersion, name, json.RawMessage(text), nil, err.Error(), []string{}}
	}
	texts := []string{}
	for _, problem := range problems {
		texts = append(texts, problem.Error())
	}
	return []any{apiVersion, name, json.RawMessage(text), json.RawMessage(encode(into)), "", texts}
}

func blank(kind runtime.Object) message {
	return reflect.New(reflect.TypeOf(kind).Elem()).Interface().(message)
}

func encode(value any) []byte {
	out, err := json.Marshal(value)
	must(err)
	return out
}

func main() {
	// Definitions came later, and consist of schemas: their cases follow those there were.
	first := len(hostkinds.All) - 2
	kinds, definitions := hostkinds.All[:first], hostkinds.All[first:]
	cases := map[string][]any{"objects": objects(kinds), "damaged": damaged(kinds, 1500), "typed": typed(kinds, 1000)}
	cases["objects"] = append(cases["objects"], objects(definitions)...)
	cases["damaged"] = append(cases["damaged"], damaged(definitions, 300)...)
	cases["typed"] = append(cases["typed"], typed(definitions, 300)...)
	record.Write(cases)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
