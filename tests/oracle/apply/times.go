package main

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
)

// A case is [old, new, new with the times that count].
func times() []any {
	one := `{"manager":"a","operation":"Update","apiVersion":"v1","time":"2024-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}}}`
	later := `{"manager":"a","operation":"Update","apiVersion":"v1","time":"2024-01-01T00:00:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}}}`
	other := `{"manager":"a","operation":"Update","apiVersion":"v1","time":"2024-01-01T00:00:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:b":{}}}`
	untimed := `{"manager":"a","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}}}`
	object := func(entries, rest string) m {
		return raw(`{"apiVersion":"v1","kind":"K","metadata":{"name":"n","managedFields":` + entries + `}` + rest + `}`)
	}
	var all []any
	for _, pair := range [][2]m{
		{object(`[`+one+`]`, ``), object(`[`+later+`]`, ``)},
		{object(`[`+one+`]`, `,"a":1`), object(`[`+later+`]`, `,"a":1`)},
		{object(`[`+one+`]`, `,"a":1`), object(`[`+later+`]`, `,"a":2`)},
		{object(`[`+one+`]`, `,"a":1`), object(`[`+later+`]`, `,"a":1.0`)},
		{object(`[`+one+`]`, `,"a":{}`), object(`[`+later+`]`, `,"a":null`)},
		{object(`[`+one+`]`, `,"a":1`), object(`[`+later+`]`, ``)},
		{object(`[`+one+`]`, ``), object(`[`+other+`]`, ``)},
		{object(`[`+one+`]`, ``), object(`[`+later+`,`+other+`]`, ``)},
		{object(`[`+one+`,`+one+`]`, ``), object(`[`+later+`,`+later+`]`, ``)},
		{object(`[`+one+`]`, ``), object(`[`+untimed+`]`, ``)},
		{object(`[`+untimed+`]`, ``), object(`[`+later+`]`, ``)},
		{object(`[]`, ``), object(`[]`, ``)},
		{object(`[`+one+`]`, ``), object(`[`+one+`]`, ``)},
		{object(`[{"manager":1}]`, ``), object(`[`+later+`]`, ``)},
		{raw(`{"metadata":{"name":"n"}}`), object(`[`+later+`]`, ``)},
	} {
		old, given := pair[0], pair[1]
		kept, err := fieldmanager.IgnoreManagedFieldsTimestampsTransformer(nil,
			&unstructured.Unstructured{Object: decode(encode(given))}, &unstructured.Unstructured{Object: decode(encode(old))})
		must(err)
		all = append(all, l{old, given, kept.(*unstructured.Unstructured).Object})
	}
	return all
}
