package main

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
)

type generator struct {
	*rand.Rand
	// Whether clients may say anything of owners.
	bold bool
}

func (r generator) chance(percent int) bool { return r.Intn(100) < percent }

func pick[T any](r generator, from ...T) T { return from[r.Intn(len(from))] }

func sortedKeys(fields m) []string { return slices.Sorted(maps.Keys(fields)) }

func object(properties m) m { return m{"type": "object", "properties": properties} }

func text() m { return m{"type": "string"} }

func number() m { return m{"type": "integer"} }

func listMap(items m, keys ...any) m {
	return m{"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
}

func set(items m) m { return m{"type": "array", "items": items, "x-kubernetes-list-type": "set"} }

// A schema with every way to merge.
func everything() m {
	part := object(m{"name": text(), "size": number(), "tags": set(text()), "sub": listMap(keyed(object(m{"id": number(), "note": text()}), "id"), "id")})
	port := object(m{"port": number(), "protocol": m{"type": "string", "default": "TCP"}, "host": text()})
	atomic := object(m{"r": number(), "g": number()})
	atomic["x-kubernetes-map-type"] = "atomic"
	atomicMap := m{"type": "object", "additionalProperties": text(), "x-kubernetes-map-type": "atomic"}
	return object(m{
		"data": m{"type": "object", "additionalProperties": text()},
		"spec": object(m{
			"text": text(), "number": number(), "float": m{"type": "number"}, "flag": m{"type": "boolean"},
			"when": m{"type": "string", "format": "date-time"}, "bytes": m{"type": "string", "format": "byte"},
			"either": m{"x-kubernetes-int-or-string": true},
			"free":   m{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			"any":    m{"x-kubernetes-preserve-unknown-fields": true},
			"atoms":  m{"type": "array", "items": text()},
			"set":    set(text()), "numbers": set(number()),
			"parts": listMap(keyed(part, "name"), "name"),
			"ports": listMap(keyed(port, "port"), "port", "protocol"),
			"color": atomic, "labels": atomicMap,
			"map":    m{"type": "object", "additionalProperties": object(m{"a": text(), "b": set(text())})},
			"nested": object(m{"x": object(m{"y": text(), "z": text()}), "w": text()}),
			"child":  m{"type": "object", "x-kubernetes-embedded-resource": true, "properties": m{"spec": object(m{"a": text()})}},
		}),
		"status": object(m{
			"phase":      text(),
			"conditions": listMap(keyed(object(m{"type": text(), "status": text()}), "type"), "type"),
		}),
	})
}

func keyed(items m, keys ...any) m {
	items["required"] = l(keys)
	return items
}

func (r generator) rootSchema() m {
	properties := m{"spec": r.objectSchema(1)}
	if r.chance(60) {
		properties["status"] = r.objectSchema(2)
	}
	if r.chance(20) {
		properties["data"] = r.schema(2)
	}
	root := object(properties)
	if r.chance(8) {
		root["x-kubernetes-preserve-unknown-fields"] = true
	}
	return root
}

func (r generator) objectSchema(depth int) m {
	schema := m{"type": "object"}
	if r.chance(25) {
		schema["additionalProperties"] = pick[any](r, true, r.schema(depth+1), r.schema(depth+1))
	} else {
		properties := m{}
		for range 1 + r.Intn(4) {
			properties[pick(r, "a", "b", "c", "d")] = r.schema(depth + 1)
		}
		schema["properties"] = properties
	}
	if r.chance(8) {
		schema["x-kubernetes-preserve-unknown-fields"] = true
	}
	if depth > 1 && r.chance(15) {
		schema["x-kubernetes-map-type"] = pick(r, "atomic", "granular")
	}
	return schema
}

func (r generator) schema(depth int) m {
	kinds := []string{"string", "integer", "number", "boolean", "either", "any"}
	if depth < 5 {
		kinds = append(kinds, "object", "object", "object", "array", "array", "array", "map", "map", "map")
	}
	switch kind := pick(r, kinds...); kind {
	case "object":
		return r.objectSchema(depth)
	case "array":
		switch r.Intn(3) {
		case 0:
			return set(m{"type": pick(r, "string", "integer", "number", "boolean")})
		case 1:
			return m{"type": "array", "items": r.schema(depth + 1), "x-kubernetes-list-type": "atomic"}
		}
		return m{"type": "array", "items": r.schema(depth + 1)}
	case "map":
		items := object(m{"a": m{"type": pick(r, "string", "integer")}, "b": text(), "c": r.schema(depth + 1)})
		if r.chance(40) {
			items["properties"].(m)["b"].(m)["default"] = "x"
			return listMap(keyed(items, "a"), "a", "b")
		}
		return listMap(keyed(items, "a"), "a")
	case "either":
		return m{"x-kubernetes-int-or-string": true}
	case "any":
		return m{"x-kubernetes-preserve-unknown-fields": true}
	case "string":
		schema := text()
		if r.chance(20) {
			schema["format"] = pick(r, "byte", "date-time", "uuid")
		}
		return schema
	default:
		return m{"type": kind}
	}
}

// An object of a schema; each value is of the wrong type with a chance of so many in a thousand.
func (r generator) object(schema m, version string, wrong int) m {
	fields := r.fields(schema, wrong, 60)
	fields["apiVersion"], fields["kind"] = group+"/"+version, kind
	metadata := m{"name": "n", "namespace": "ns"}
	if r.chance(40) {
		metadata["labels"] = r.texts()
	}
	if r.chance(15) {
		metadata["annotations"] = r.texts()
	}
	if r.chance(15) {
		metadata["finalizers"] = r.some(func() any { return pick(r, "f/a", "f/b", "f/c") })
	}
	if r.chance(10) {
		metadata["ownerReferences"] = l{m{"apiVersion": "v1", "kind": "K", "name": pick(r, "o", "p"), "uid": pick(r, "1", "2")}}
	}
	fields["metadata"] = metadata
	return fields
}

func (r generator) texts() m {
	all := m{}
	for range 1 + r.Intn(2) {
		all[pick(r, "a", "b", "c")] = pick(r, "x", "y")
	}
	return all
}

func (r generator) some(one func() any) l {
	all := l{}
	for range r.Intn(4) {
		all = append(all, one())
	}
	return all
}

func (r generator) fields(schema m, wrong, percent int) m {
	fields := m{}
	properties, _ := schema["properties"].(m)
	for _, name := range sortedKeys(properties) {
		if r.chance(percent) {
			fields[name] = r.value(properties[name].(m), wrong)
		}
	}
	if schema["x-kubernetes-embedded-resource"] == true {
		fields["apiVersion"], fields["kind"] = "v1", "Child"
		fields["metadata"] = m{"labels": r.texts()}
	}
	others, isSchema := schema["additionalProperties"].(m)
	free := schema["additionalProperties"] == true || schema["x-kubernetes-preserve-unknown-fields"] == true
	if isSchema || free || r.Intn(1000) < wrong {
		for range r.Intn(3) {
			name := pick(r, "k", "l", "m", "a")
			if _, ok := properties[name]; ok {
				continue
			}
			if isSchema {
				fields[name] = r.value(others, wrong)
			} else {
				fields[name] = r.anything(2)
			}
		}
	}
	return fields
}

func (r generator) anything(depth int) any {
	switch n := r.Intn(7); {
	case n < 2 && depth > 0:
		fields := m{}
		for range r.Intn(3) {
			fields[pick(r, "k", "l", "m")] = r.anything(depth - 1)
		}
		return fields
	case n == 2 && depth > 0:
		return r.some(func() any { return r.anything(depth - 1) })
	case n == 3:
		return pick[any](r, nil, true, false)
	default:
		return pick[any](r, "x", "y", 1, 2, 1.5)
	}
}

func (r generator) value(schema m, wrong int) any {
	if r.chance(3) {
		return nil
	}
	if r.Intn(1000) < wrong {
		return r.anything(2)
	}
	switch schema["type"] {
	case "object":
		return r.fields(schema, wrong, 55)
	case "array":
		items := schema["items"].(m)
		all := r.some(func() any { return r.item(items, schema, wrong) })
		if schema["x-kubernetes-list-type"] != nil && schema["x-kubernetes-list-type"] != "atomic" && !r.chance(5) {
			all = r.unique(all, schema)
		}
		return all
	case "string":
		return pick(r, "x", "y", "z")
	case "integer":
		return pick(r, 0, 1, 2, 3)
	case "number":
		return pick[any](r, 0, 1, 1.5, 2.0)
	case "boolean":
		return r.chance(50)
	}
	if schema["x-kubernetes-int-or-string"] == true {
		return pick[any](r, 1, 2, "50%")
	}
	return r.anything(2)
}

func (r generator) item(items, list m, wrong int) any {
	if list["x-kubernetes-list-type"] == "set" && r.Intn(1000) >= wrong {
		items = maps.Clone(items)
		for {
			if v := r.value(items, 0); v != nil {
				return v
			}
		}
	}
	v := r.value(items, wrong)
	if keys, ok := list["x-kubernetes-list-map-keys"].(l); ok && r.Intn(1000) >= wrong {
		fields, ok := v.(m)
		if !ok {
			fields = m{}
		}
		properties := items["properties"].(m)
		for i, key := range keys {
			if i == 0 || r.chance(60) {
				for fields[key.(string)] == nil {
					fields[key.(string)] = r.value(properties[key.(string)].(m), 0)
				}
			} else {
				delete(fields, key.(string))
			}
		}
		return fields
	}
	return v
}

// The first of each kind.
func (r generator) unique(items l, list m) l {
	seen := map[string]bool{}
	all := l{}
	for _, item := range items {
		identity := fmt.Sprint(item)
		if keys, ok := list["x-kubernetes-list-map-keys"].(l); ok {
			fields, ok := item.(m)
			identity = ""
			for _, key := range keys {
				value, has := fields[key.(string)]
				if ok && !has {
					properties := list["items"].(m)["properties"].(m)
					value = properties[key.(string)].(m)["default"]
				}
				identity += fmt.Sprint(value, ";")
			}
		}
		if !seen[identity] {
			seen[identity] = true
			all = append(all, item)
		}
	}
	return all
}

// Some of the one, some of the other.
func (r generator) mixed(a, b m) m {
	all := m{}
	for name, value := range a {
		all[name] = value
	}
	for _, name := range sortedKeys(b) {
		left, isLeft := all[name].(m)
		right, isRight := b[name].(m)
		switch {
		case isLeft && isRight && r.chance(80):
			all[name] = r.mixed(left, right)
		case r.chance(50):
			all[name] = b[name]
		}
	}
	for _, name := range sortedKeys(all) {
		if _, ok := b[name]; !ok && r.chance(30) {
			delete(all, name)
		}
	}
	return all
}
