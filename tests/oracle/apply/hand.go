package main

import "fmt"

// Scripts by hand, each for one rule.
func handScripts() []any {
	head := `"apiVersion":"example.dev/v1","kind":"Thing","metadata":{"name":"n","namespace":"ns"}`
	thing := func(spec string) m { return raw(`{` + head + `,"spec":` + spec + `}`) }
	stated := func(spec, status string) m { return raw(`{` + head + `,"spec":` + spec + `,"status":` + status + `}`) }
	claimed := func(spec, entries string) m {
		object := thing(spec)
		object["metadata"].(m)["managedFields"] = raw(`{"e":` + entries + `}`)["e"]
		object["metadata"].(m)["uid"] = "u"
		return object
	}
	apply := func(manager string, object m) step {
		return step{Operation: "apply", Version: "v1", Manager: manager, Object: object}
	}
	update := func(manager string, object m) step {
		return step{Operation: "update", Version: "v1", Manager: manager, Object: object}
	}
	force := func(s step) step { s.Force = true; return s }
	of := func(subresource string, s step) step { s.Subresource = subresource; return s }
	in := func(version string, s step) step {
		s.Version, s.Object["apiVersion"] = version, group+"/"+version
		return s
	}
	annotated := func(spec, lastApplied string) m {
		object := thing(spec)
		object["metadata"].(m)["annotations"] = m{"kubectl.kubernetes.io/last-applied-configuration": lastApplied}
		return object
	}
	lastApplied := func(spec string) string { return string(encode(thing(spec))) }
	var crowd []step
	for i := range 14 {
		crowd = append(crowd, update(fmt.Sprintf("m%d", i%13), thing(fmt.Sprintf(`{"text":"%d","parts":[{"name":"p%d","size":%d}]}`, i, i, i))))
	}
	var spread []step
	for i := range 14 {
		parts := ""
		for j := range i + 1 {
			parts += fmt.Sprintf(`,{"name":"p%d","size":1}`, j)
		}
		next := update(fmt.Sprintf("m%d", i), thing(`{"parts":[`+parts[1:]+`]}`))
		if i%3 == 0 {
			next = in("v2", next)
		}
		spread = append(spread, next)
	}
	entry := func(operation, version, fields string) string {
		return `{"manager":"x","operation":"` + operation + `","apiVersion":"` + version + `","fieldsType":"FieldsV1","fieldsV1":` + fields + `}`
	}
	foreign := raw(`{"apiVersion":"example.dev/v1","kind":"Other","metadata":{"name":"n"}}`)
	elsewhere := raw(`{"apiVersion":"other.dev/v1","kind":"Thing","metadata":{"name":"n"}}`)
	malformed := raw(`{"apiVersion":"a/b/c","kind":"Thing","metadata":{"name":"n"}}`)
	nowhere := raw(`{"metadata":{"name":"n"}}`)
	cases := []struct {
		name  string
		steps []step
	}{
		{"create by apply", []step{apply("a", thing(`{"text":"x"}`))}},
		{"apply twice", []step{apply("a", thing(`{"text":"x"}`)), apply("a", thing(`{"text":"x"}`))}},
		{"shared ownership", []step{apply("a", thing(`{"text":"x"}`)), apply("b", thing(`{"text":"x"}`)), apply("a", thing(`{}`)), apply("b", thing(`{}`))}},
		{"one conflict with an applier", []step{apply("a", thing(`{"text":"x"}`)), apply("b", thing(`{"text":"y"}`)), force(apply("b", thing(`{"text":"y"}`))), apply("a", thing(`{"text":"x"}`))}},
		{"one conflict with an updater", []step{update("a", thing(`{"text":"x"}`)), apply("b", thing(`{"text":"y"}`)), force(apply("b", thing(`{"text":"y"}`)))}},
		{"many conflicts", []step{update("a", thing(`{"text":"x","number":1}`)), apply("b", thing(`{"parts":[{"name":"p","size":1}],"set":["q"]}`)), of("status", apply("c", stated(`{}`, `{"phase":"x"}`))), apply("d", stated(`{"text":"y","number":2,"parts":[{"name":"p","size":2}]}`, `{"phase":"y"}`)), of("status", apply("d", stated(`{"text":"y"}`, `{"phase":"y"}`))), of("status", update("d", stated(`{"text":"y"}`, `{"phase":"y"}`)))}},
		{"removal", []step{apply("a", thing(`{"text":"x","number":1,"nested":{"x":{"y":"1","z":"2"},"w":"3"},"map":{"k":{"a":"1"},"l":{}}}`)), apply("a", thing(`{"text":"x","nested":{"x":{"z":"2"}},"map":{"l":{}}}`)), apply("a", thing(`{"text":"x"}`))}},
		{"removal of what an updater has written", []step{apply("a", thing(`{"text":"x","nested":{"w":"1"}}`)), update("b", thing(`{"text":"y","nested":{"w":"1","x":{"y":"2"}}}`)), apply("a", thing(`{"number":1}`))}},
		{"items of maps", []step{apply("a", thing(`{"parts":[{"name":"p","size":1,"tags":["t","u"]},{"name":"q"}]}`)), apply("b", thing(`{"parts":[{"name":"r"},{"name":"p","tags":["v"]}]}`)), apply("a", thing(`{"parts":[{"name":"q","size":2}]}`)), apply("b", thing(`{"parts":[]}`))}},
		{"two keys and a default", []step{apply("a", thing(`{"ports":[{"port":1},{"port":1,"protocol":"UDP"}]}`)), apply("b", thing(`{"ports":[{"port":1,"protocol":"TCP","host":"h"}]}`)), apply("a", thing(`{"ports":[{"port":1,"protocol":"UDP"}]}`)), apply("a", thing(`{"ports":[{"port":2},{"port":2,"protocol":"TCP"}]}`)), apply("a", thing(`{"ports":[{"host":"h"}]}`))}},
		{"sets", []step{apply("a", thing(`{"set":["x","y"],"numbers":[1,2]}`)), apply("b", thing(`{"set":["z","x"],"numbers":[2,3]}`)), apply("a", thing(`{"set":["y"]}`)), apply("b", thing(`{}`))}},
		{"atomic", []step{apply("a", thing(`{"atoms":["x"],"color":{"r":1},"labels":{"a":"b"}}`)), apply("b", thing(`{"atoms":["x","y"],"color":{"g":1},"labels":{}}`)), force(apply("b", thing(`{"atoms":["x","y"],"color":{"g":1}}`))), apply("b", thing(`{}`))}},
		{"free", []step{apply("a", thing(`{"free":{"k":{"l":1,"m":[1]}},"any":[1],"either":1}`)), apply("b", thing(`{"free":{"k":{"l":2,"n":null}},"any":{"a":1},"either":"x"}`)), force(apply("b", thing(`{"free":{"k":{"l":2,"n":null}},"any":{"a":1},"either":"x"}`))), apply("a", thing(`{}`)), force(apply("a", thing(`{"free":{"k":"s"},"any":null}`)))}},
		{"empty and null", []step{apply("a", thing(`{"map":{},"parts":[],"nested":{},"text":null,"set":null,"free":{}}`)), apply("b", thing(`{"map":{"k":{}},"parts":null,"nested":{"x":{}}}`)), apply("a", thing(`{"map":{"k":null}}`)), apply("a", thing(`{}`)), apply("b", thing(`{}`))}},
		{"undeclared field", []step{apply("a", thing(`{"foo":1}`)), update("a", thing(`{"foo":1}`)), apply("a", thing(`{"nested":{"x":{"foo":1}}}`)), apply("a", thing(`{"parts":[{"name":"a","foo":1}]}`)), apply("a", thing(`{"map":{"k":{"foo":1}}}`)), apply("a", thing(`{"child":{"apiVersion":"v1","kind":"K","metadata":{"foo":"x"}}}`))}},
		{"wrong types", []step{apply("a", thing(`{"text":1}`)), apply("a", thing(`{"text":{"a":[1,"b",null,1.5,true]}}`)), apply("a", thing(`{"number":"x"}`)), apply("a", thing(`{"number":[]}`)), apply("a", thing(`{"number":true}`)), apply("a", thing(`{"flag":1.5}`)), apply("a", thing(`{"flag":{"a":{"b":[1,2]},"c":null}}`)), apply("a", thing(`{"when":{"a":1}}`)), apply("a", thing(`{"parts":"x"}`)), apply("a", thing(`{"parts":{"a":1e6}}`)), apply("a", thing(`{"nested":[1]}`)), apply("a", thing(`{"nested":"x"}`)), apply("a", thing(`{"parts":["x"]}`)), apply("a", thing(`{"parts":[null]}`)), apply("a", thing(`{"parts":[{}]}`)), apply("a", thing(`{"ports":[{"host":"x"}]}`)), apply("a", thing(`{"set":[{}]}`)), apply("a", thing(`{"set":[[]]}`)), apply("a", thing(`{"set":[null]}`)), apply("a", thing(`{"set":[1]}`)), apply("a", thing(`{"atoms":["x",1]}`)), apply("a", thing(`{"text":"é\n\""}`))}},
		{"duplicates", []step{apply("a", thing(`{"parts":[{"name":"p"},{"name":"p"}]}`)), apply("a", thing(`{"set":["x","x"]}`)), update("a", thing(`{"parts":[{"name":"p","size":1},{"name":"p","size":2},{"name":"q"}],"set":["x","x"]}`)), apply("b", thing(`{"parts":[{"name":"q","size":3}]}`)), apply("b", thing(`{"parts":[{"name":"p","size":3}],"set":["x"]}`)), force(apply("b", thing(`{"parts":[{"name":"p","size":3}],"set":["x"]}`))), update("c", thing(`{"parts":[{"name":"p","size":1},{"name":"p","size":3}],"set":["x","x","x"]}`)), update("d", thing(`{"parts":[{"name":"p","size":1}],"set":["x"]}`))}},
		{"a duplicate that is applied", []step{update("a", thing(`{"parts":[{"name":"p","size":1,"tags":["t"]},{"name":"q"},{"name":"p","size":2}]}`)), force(apply("b", thing(`{"parts":[{"name":"p"}]}`))), force(apply("c", thing(`{"parts":[{"name":"q","size":1},{"name":"p","tags":["u"]}]}`)))}},
		{"before the first apply", []step{update("a", thing(`{"text":"x","number":1}`)), update("a", claimed(`{"text":"x","number":1}`, `[]`)), update("a", thing(`{"text":"y","number":1}`)), apply("b", thing(`{"text":"z"}`)), apply("b", thing(`{"text":"y","flag":true}`)), update("a", claimed(`{"text":"x"}`, `[{}]`))}},
		{"entries of the client", []step{update("a", thing(`{"text":"x","number":1}`)), update("b", claimed(`{"text":"x","number":2}`, `[`+entry("Update", "example.dev/v1", `{"f:spec":{"f:text":{}}}`)+`]`)), update("b", claimed(`{"text":"x","number":3}`, `[`+entry("Other", "example.dev/v1", `{}`)+`]`)), update("b", claimed(`{"text":"x","number":4}`, `[`+entry("Apply", "", `{}`)+`]`)), update("b", claimed(`{"text":"x","number":5}`, `[`+entry("Apply", "example.dev/v1", `{"spec":{}}`)+`]`)), update("b", claimed(`{"text":"x","number":6}`, `[{"manager":1}]`)), update("b", claimed(`{"text":"x","number":6}`, `[null]`)), update("b", claimed(`{"text":"x","number":7}`, `{}`)), update("b", claimed(`{"text":"x","number":8}`, `[{"foo":1}]`)), apply("b", claimed(`{"text":"x","number":8}`, `[]`)), apply("b", claimed(`{"text":"x","number":8}`, `{}`)), apply("c", claimed(`{"text":"x"}`, `[{}]`))}},
		{"entries through a subresource", []step{update("a", thing(`{"text":"x","number":1}`)), of("status", update("b", claimed(`{"text":"x","number":2}`, `[{}]`))), of("status", update("b", stated(`{"text":"z"}`, `{"phase":"x"}`))), update("b", stated(`{"text":"z"}`, `{"phase":"y"}`)), of("scale", update("c", stated(`{"text":"c"}`, `{"phase":"c"}`)))}},
		{"other versions of entries", []step{update("a", thing(`{"text":"x"}`)), update("b", claimed(`{"text":"x","number":2}`, `[`+entry("Update", "example.dev/v9", `{"f:spec":{"f:text":{}}}`)+`,`+entry("Apply", "example.dev/v1", `{"f:spec":{"f:number":{}}}`)+`]`)), update("b", claimed(`{"text":"x","number":3}`, `[`+entry("Update", "a/b/c", `{"f:spec":{"f:text":{}}}`)+`]`)), apply("b", thing(`{"text":"y"}`))}},
		{"a version that cannot be read", []step{update("a", thing(`{"text":"x"}`)), update("b", claimed(`{"text":"x"}`, `[`+entry("Update", "example.dev/v1", `{"f:spec":{"f:text":{}}}`)+`]`)), apply("x", thing(`{"text":"x"}`))}},
		{"two versions", []step{apply("a", thing(`{"text":"x","parts":[{"name":"p"}]}`)), in("v2", apply("a", thing(`{"text":"x"}`))), in("v2", update("b", thing(`{"text":"y","number":1}`))), apply("c", thing(`{"number":2}`)), force(apply("c", thing(`{"number":2}`))), in("v2", apply("c", thing(`{}`)))}},
		{"wrong kinds", []step{apply("a", thing(`{"text":"x"}`)), {Operation: "apply", Version: "v1", Manager: "a", Object: foreign}, {Operation: "apply", Version: "v1", Manager: "a", Object: elsewhere}, {Operation: "apply", Version: "v1", Manager: "a", Object: malformed}, {Operation: "apply", Version: "v1", Manager: "a", Object: nowhere}}},
		{"from the client's side", []step{update("kubectl-client-side-apply", annotated(`{"text":"x","number":1}`, lastApplied(`{"text":"x","number":1}`))), apply("kubectl", thing(`{"text":"y"}`)), apply("kubectl", thing(`{"text":"y","number":2}`)), apply("other", thing(`{"number":3}`))}},
		{"from the client's side, changed meanwhile", []step{update("kubectl-client-side-apply", annotated(`{"text":"x","number":1}`, lastApplied(`{"text":"x","number":1}`))), update("b", annotated(`{"text":"x","number":5}`, lastApplied(`{"text":"x","number":1}`))), apply("kubectl", thing(`{"text":"y","number":2}`)), force(apply("kubectl", thing(`{"text":"y","number":2}`))), apply("kubectl", annotated(`{"text":"<&>","number":1.0}`, "mine"))}},
		{"an annotation that says nothing", []step{update("c", annotated(`{"text":"x"}`, `{}`)), apply("kubectl", thing(`{"text":"y"}`)), update("c", annotated(`{"text":"x"}`, `no`)), apply("kubectl", thing(`{"text":"y"}`)), update("c", annotated(`{"text":"x"}`, ``)), apply("kubectl", thing(`{"text":"y"}`)), update("c", annotated(`{"text":"x"}`, `{"apiVersion":"example.dev/v2","kind":"Thing","spec":{"text":"x"}}`)), apply("kubectl", thing(`{"text":"y"}`)), update("c", annotated(`{"text":"x"}`, `{"apiVersion":"example.dev/v1","kind":"Thing","spec":{"foo":"x"}}`)), apply("kubectl", thing(`{"text":"y"}`))}},
		{"a crowd on one field", crowd},
		{"a crowd", spread},
		{"no name of a manager", []step{update("", thing(`{"text":"x"}`)), apply("", thing(`{"text":"y"}`)), force(apply("", thing(`{"text":"y"}`)))}},
		{"names in messages", []step{update(`a"<b>`, thing(`{"text":"x"}`)), of(`st"<`, update("é\u2028", thing(`{"text":"x","number":1}`))), update("a", thing(`{"text":"x","number":1,"flag":true}`)), update("a!", thing(`{"text":"x","number":1,"flag":true,"float":1}`)), apply("z", thing(`{"text":"y","number":2,"flag":false,"float":2}`))}},
		{"metadata", []step{apply("a", raw(`{"apiVersion":"example.dev/v1","kind":"Thing","metadata":{"name":"n","labels":{"a":"b","c":"d"},"annotations":{"e":"f"},"finalizers":["x/y"],"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"o","uid":"1"}]}}`)), apply("b", raw(`{"apiVersion":"example.dev/v1","kind":"Thing","metadata":{"name":"n","labels":{"a":"z"},"finalizers":["x/z"],"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"p","uid":"1"},{"apiVersion":"v1","kind":"K","name":"o","uid":"2"}]}}`)), force(apply("b", raw(`{"apiVersion":"example.dev/v1","kind":"Thing","metadata":{"name":"n","labels":{"a":"z"},"finalizers":["x/z"],"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"p"}]}}`))), apply("a", thing(`{}`)), apply("a", raw(`{"apiVersion":"example.dev/v1","kind":"Thing","metadata":{"name":"n","generation":5,"resourceVersion":"7","uid":"u","creationTimestamp":"2020-01-01T00:00:00Z"}}`)), apply("a", raw(`{"apiVersion":"example.dev/v1","kind":"Thing","metadata":{"name":"n","labels":{"a":1}}}`)), apply("b", raw(`{"apiVersion":"example.dev/v1","kind":"Thing"}`))}},
		{"numbers", []step{apply("a", thing(`{"float":1,"numbers":[1,20,3]}`)), apply("b", thing(`{"float":1.0,"numbers":[20.0,1]}`)), apply("b", thing(`{"float":1.5,"numbers":[2]}`)), apply("a", thing(`{"parts":[{"name":"p","sub":[{"id":10},{"id":9}]}]}`)), apply("b", thing(`{"parts":[{"name":"p","sub":[{"id":9,"note":"x"},{"id":10}]}]}`))}},
		{"an embedded object", []step{apply("a", thing(`{"child":{"apiVersion":"v1","kind":"K","metadata":{"name":"c","labels":{"a":"b"}},"spec":{"a":"x"}}}`)), apply("b", thing(`{"child":{"apiVersion":"v1","kind":"K","metadata":{"name":"d"}}}`)), apply("a", thing(`{"child":{"spec":{"a":"y"}}}`))}},
	}
	var all []any
	for _, c := range cases {
		all = append(all, run(script{Name: c.name, Versions: map[string]any{"v1": named, "v2": named}, Status: true, Steps: c.steps}))
	}
	all = append(all, changedSchema(thing, apply, in))
	return all
}

// In v2, lists merge as a whole; what was owned item by item in v1 is then owned as a whole by those who write v2.
func changedSchema(thing func(string) m, apply func(string, m) step, in func(string, step) step) any {
	atomic := atomicTwin(everything())
	part := `{"parts":[{"name":"p","size":1}],"set":["x"]}`
	entry := `[{"manager":"a","operation":"Apply","apiVersion":"example.dev/v2","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:parts":{"k:{\"name\":\"p\"}":{".":{},"f:name":{}}},"f:set":{"v:\"x\"":{}}}}}]`
	claimed := thing(part)
	claimed["metadata"].(m)["managedFields"] = raw(`{"e":` + entry + `}`)["e"]
	return run(script{Name: "a list that became atomic", Versions: map[string]any{"v1": named, "v2": atomic}, Status: true, Steps: []step{
		apply("a", thing(part)),
		in("v2", step{Operation: "update", Version: "v2", Manager: "b", Object: claimed}),
		in("v2", apply("c", thing(`{"set":["y"]}`))),
		in("v2", apply("a", thing(`{}`))),
		apply("c", thing(part)),
	}})
}
