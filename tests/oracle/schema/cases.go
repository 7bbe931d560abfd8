package main

import (
	"encoding/json"
	"maps"
	"math/rand"
	"slices"
)

const (
	schemas          = 160
	objectsPerSchema = 7
)

type m = map[string]any
type l = []any

// Random schemas of bounded size with objects that fit them more or less, and some by hand.
func cases() []group {
	var groups []group
	for _, hand := range byHand {
		g := group{Schema: json.RawMessage(hand.schema)}
		for _, object := range hand.objects {
			answer, _ := ask(g.Schema, json.RawMessage(object), nil)
			g.Objects = append(g.Objects, answer)
		}
		for _, pair := range hand.updates {
			answer, _ := ask(g.Schema, json.RawMessage(pair[1]), json.RawMessage(pair[0]))
			g.Objects = append(g.Objects, answer)
		}
		groups = append(groups, g)
	}
	r := rand.New(rand.NewSource(1))
	for len(groups) < schemas+len(byHand) {
		generator := generator{r}
		schema := generator.object(0)
		g := group{Schema: encode(schema)}
		for range objectsPerSchema {
			answer, _ := ask(g.Schema, encode(generator.fitting(schema, 0)), nil)
			g.Objects = append(g.Objects, answer)
		}
		old := generator.fields(schema, 0)
		answer, _ := ask(g.Schema, encode(generator.mixed(old, generator.fields(schema, 0))), encode(old))
		g.Objects = append(g.Objects, answer)
		groups = append(groups, g)
	}
	return groups
}

func randomBroken(count int) []string {
	r := rand.New(rand.NewSource(2))
	generator := generator{r}
	var broken []string
	for range count {
		schema := generator.object(0)
		generator.damage(schema)
		broken = append(broken, string(encode(schema)))
	}
	return broken
}

type generator struct{ *rand.Rand }

var names = []string{"a", "b", "c", "d", "kind"}

func (g generator) chance(percent int) bool { return g.Intn(100) < percent }

func pick[T any](g generator, from ...T) T { return from[g.Intn(len(from))] }

func (g generator) object(depth int) m {
	schema := m{"type": "object"}
	if depth > 0 && g.chance(25) {
		if g.chance(20) {
			schema["additionalProperties"] = pick[any](g, true, false)
		} else {
			schema["additionalProperties"] = g.schema(depth + 1)
		}
	}
	if schema["additionalProperties"] == nil || g.chance(20) {
		properties := m{}
		for range 1 + g.Intn(3) {
			name := pick(g, names...)
			if name == "kind" {
				properties[name] = m{"type": "string"}
			} else {
				properties[name] = g.schema(depth + 1)
			}
		}
		schema["properties"] = properties
		if g.chance(30) {
			schema["required"] = l{pick(g, names...)}
		}
	}
	if g.chance(8) {
		schema["x-kubernetes-preserve-unknown-fields"] = true
	}
	if depth > 0 && g.chance(6) && schema["properties"] != nil && schema["additionalProperties"] == nil {
		schema["x-kubernetes-embedded-resource"] = true
	}
	if g.chance(8) {
		schema["minProperties"] = g.Intn(3)
	}
	if g.chance(8) {
		schema["maxProperties"] = g.Intn(3)
	}
	g.branches(schema, depth)
	return schema
}

func (g generator) schema(depth int) m {
	var schema m
	kinds := []string{"string", "integer", "number", "boolean", "int-or-string", "any"}
	if depth < 3 {
		kinds = append(kinds, "object", "object", "object", "array", "array", "array")
	}
	kind := pick(g, kinds...)
	switch kind {
	case "object":
		schema = g.object(depth)
	case "array":
		schema = m{"type": "array", "items": g.schema(depth + 1)}
		if g.chance(30) {
			schema["x-kubernetes-list-type"] = pick(g, "set", "atomic")
		} else if g.chance(40) {
			schema["x-kubernetes-list-type"] = "map"
			schema["x-kubernetes-list-map-keys"] = pick(g, l{"a"}, l{"a", "b"})
			if g.chance(80) {
				schema["items"] = m{"type": "object", "properties": m{"a": m{"type": "string"}, "b": g.schema(depth + 2)}}
			}
		}
		g.maybe(schema, 10, "minItems", g.Intn(3))
		g.maybe(schema, 10, "maxItems", g.Intn(3))
		g.maybe(schema, 10, "uniqueItems", true)
		g.branches(schema, depth)
	case "int-or-string":
		schema = m{"x-kubernetes-int-or-string": true}
		if g.chance(30) {
			schema["anyOf"] = l{m{"type": "integer"}, m{"type": "string"}}
		}
		g.value(schema, "string")
		g.value(schema, "integer")
	case "any":
		schema = m{"x-kubernetes-preserve-unknown-fields": true}
		g.maybe(schema, 20, "format", pick(g, "date", "int32", "uuid"))
		g.branches(schema, depth)
	default:
		schema = m{"type": kind}
		g.value(schema, kind)
		g.branches(schema, depth)
	}
	g.maybe(schema, 12, "nullable", true)
	if g.chance(20) {
		schema["default"] = g.fitting(schema, depth)
		if schema["default"] == nil {
			delete(schema, "default")
		}
	}
	return schema
}

func (g generator) maybe(schema m, percent int, keyword string, value any) {
	if g.chance(percent) {
		schema[keyword] = value
	}
}

// Value validations for scalars.
func (g generator) value(schema m, kind string) {
	switch kind {
	case "string":
		g.maybe(schema, 15, "minLength", g.Intn(4))
		g.maybe(schema, 15, "maxLength", g.Intn(4))
		g.maybe(schema, 15, "pattern", pick(g, `^a`, `^[a-z]+$`, `\d`, `^x{1,2}$`))
		g.maybe(schema, 15, "format", pick(g, "date", "date-time", "uuid", "ipv4", "byte", "foo", "int32", "hostname", "duration"))
		g.maybe(schema, 10, "enum", pick(g, l{"a", "b"}, l{"a<b"}, l{1, "x"}, l{"a\"b"}))
	case "integer", "number":
		g.maybe(schema, 20, "minimum", pick[any](g, 0, 1, -3, 1.5, 100))
		g.maybe(schema, 20, "maximum", pick[any](g, 0, 10, 2.5, 1000000, 1234567.5))
		g.maybe(schema, 10, "exclusiveMinimum", true)
		g.maybe(schema, 10, "exclusiveMaximum", true)
		g.maybe(schema, 15, "multipleOf", pick[any](g, 2, 0.5, 3, 0, 1.5))
		g.maybe(schema, 20, "format", pick(g, "int32", "int64", "float", "double", "date", "foo"))
		g.maybe(schema, 10, "enum", pick(g, l{1, 2}, l{1.5, 2}, l{0, nil}, l{97}))
	case "boolean":
		g.maybe(schema, 10, "enum", l{true})
	}
}

// Value validations under allOf and the like.
func (g generator) branches(schema m, depth int) {
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		if g.chance(7) {
			var branches l
			for range 1 + g.Intn(3) {
				branches = append(branches, g.branch(schema, depth))
			}
			schema[keyword] = branches
		}
	}
	if g.chance(5) {
		schema["not"] = g.branch(schema, depth)
	}
}

func (g generator) branch(schema m, depth int) m {
	branch := m{}
	switch schema["type"] {
	case "object":
		g.maybe(branch, 60, "required", l{pick(g, names...)})
		g.maybe(branch, 20, "maxProperties", g.Intn(3))
		if properties, ok := schema["properties"].(m); ok && g.chance(60) {
			narrowed := m{}
			for _, name := range names {
				if property, ok := properties[name].(m); ok && g.chance(50) {
					narrowed[name] = g.branch(property, depth+1)
				}
			}
			branch["properties"] = narrowed
		}
	case "array":
		g.maybe(branch, 50, "minItems", g.Intn(3))
		if items, ok := schema["items"].(m); ok && g.chance(40) {
			branch["items"] = g.branch(items, depth+1)
		}
	case "string", "integer", "number", "boolean":
		g.value(branch, schema["type"].(string))
	}
	g.maybe(branch, 10, "enum", l{"a", 1, nil})
	return branch
}

// A value that fits the schema, mostly.
func (g generator) fitting(schema any, depth int) any {
	s, ok := schema.(m)
	if !ok || g.chance(7) || depth > 6 {
		return g.any(depth)
	}
	if options, ok := s["enum"].(l); ok && g.chance(60) {
		return options[g.Intn(len(options))]
	}
	switch s["type"] {
	case "object":
		return g.fields(s, depth)
	case "array":
		items := l{}
		for range g.Intn(4) {
			items = append(items, g.fitting(s["items"], depth+1))
		}
		if len(items) > 0 && g.chance(40) {
			items = append(items, items[0])
		}
		return items
	case "string":
		return g.text()
	case "integer":
		return pick[any](g, 0, 1, 2, -5, 97, 12, 2.0, 1.5, 1e10, 3e9, 1e20)
	case "number":
		return pick[any](g, 0, 1, 2, -5, 1.5, 0.1, 1e7, 1e39, 123456789.5, 3)
	case "boolean":
		return pick[any](g, true, false)
	}
	return g.any(depth)
}

func (g generator) fields(s m, depth int) m {
	fields := m{}
	properties, _ := s["properties"].(m)
	for _, name := range names {
		if property, ok := properties[name]; ok && g.chance(75) {
			fields[name] = g.fitting(property, depth+1)
		}
	}
	if additional, ok := s["additionalProperties"]; ok {
		for range g.Intn(3) {
			fields[pick(g, "x", "y", "z.w", "a")] = g.fitting(additional, depth+1)
		}
	}
	if g.chance(25) {
		fields[pick(g, append(names, "unknown", "metadata", "apiVersion")...)] = g.any(depth + 1)
	}
	if depth == 0 {
		fields["apiVersion"] = "g/v1"
		fields["kind"] = "K"
		fields["metadata"] = m{"name": "n"}
	}
	if s["x-kubernetes-embedded-resource"] != nil && g.chance(80) {
		fields["apiVersion"] = pick[any](g, "v1", "g/v1", "", "a/b/c", 1)
		fields["kind"] = pick[any](g, "K", "", "a.b", "Pod")
		delete(fields, "metadata")
	}
	return fields
}

// A new value that has parts of the old one.
func (g generator) mixed(old, new any) any {
	switch old := old.(type) {
	case m:
		new, ok := new.(m)
		if !ok || g.chance(20) {
			return old
		}
		mixed := m{}
		for _, name := range slices.Sorted(maps.Keys(new)) {
			if before, ok := old[name]; ok {
				mixed[name] = g.mixed(before, new[name])
			} else {
				mixed[name] = new[name]
			}
		}
		return mixed
	case l:
		new, ok := new.(l)
		if !ok || g.chance(20) {
			return old
		}
		return slices.Concat(new, old)
	}
	return pick(g, old, new)
}

func (g generator) text() string {
	return pick(g, "", "a", "ab", "abcd", "x", "xx", "1", "é", "<a&b>", "2020-01-01", "2020-01-01T00:00:00Z", "1.2.3.4", "YQ==", "1h", "a\"b\n", "\u00a0")
}

func (g generator) any(depth int) any {
	switch g.Intn(9) {
	case 0:
		return nil
	case 1:
		return g.chance(50)
	case 2:
		return pick[any](g, 0, 1, 97, -1)
	case 3:
		return pick[any](g, 1.5, 2.0, 1e20)
	case 4, 5:
		return g.text()
	case 6:
		if depth > 4 {
			return l{}
		}
		return l{g.any(depth + 1), g.any(depth + 1)}
	default:
		if depth > 4 {
			return m{}
		}
		return m{pick(g, names...): g.any(depth + 1), "q": g.any(depth + 1)}
	}
}

// Damage makes a schema less structural.
func (g generator) damage(schema m) {
	for range 1 + g.Intn(3) {
		target := schema
		for g.chance(70) {
			var children []m
			for _, name := range names {
				if properties, ok := target["properties"].(m); ok {
					if child, ok := properties[name].(m); ok {
						children = append(children, child)
					}
				}
			}
			for _, keyword := range []string{"items", "additionalProperties", "not"} {
				if child, ok := target[keyword].(m); ok {
					children = append(children, child)
				}
			}
			for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
				if branches, ok := target[keyword].(l); ok {
					children = append(children, branches[0].(m))
				}
			}
			if len(children) == 0 {
				break
			}
			target = children[g.Intn(len(children))]
		}
		switch g.Intn(10) {
		case 0:
			delete(target, "type")
		case 1:
			delete(target, "items")
		case 2:
			target["type"] = pick(g, "object", "string", "array")
		case 3:
			target["x-kubernetes-embedded-resource"] = true
		case 4:
			target["x-kubernetes-int-or-string"] = true
		case 5:
			target["anyOf"] = l{m{"type": "integer"}, m{"type": "string"}}
		case 6:
			target["allOf"] = l{m{"properties": m{"a": m{"title": "t"}, "q": m{}}}}
		case 7:
			target["properties"] = m{"metadata": m{"type": pick(g, "object", "string")}}
		case 8:
			target["oneOf"] = l{m{"items": m{"nullable": true}, "additionalProperties": m{}}}
		case 9:
			target["additionalProperties"] = m{"type": "string"}
		}
	}
}
