package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Kinds and what is done to one object of it. Each step begins with the result of the one before, in its own version.
type script struct {
	Name string `json:"name,omitempty"`
	// The schemas, of which a name stands for the one in `everything`.
	Versions map[string]any `json:"versions"`
	Status   bool           `json:"status"`
	Steps    []step         `json:"steps"`
}

type step struct {
	// `apply` or `update`.
	Operation   string `json:"operation"`
	Version     string `json:"version"`
	Manager     string `json:"manager"`
	Subresource string `json:"subresource,omitempty"`
	Force       bool   `json:"force,omitempty"`
	Object      m      `json:"object"`

	// The object afterwards; absent if it was not applied.
	Result m `json:"result,omitempty"`
	// `*` if upstream does not always say the same.
	Error  string      `json:"error,omitempty"`
	Causes [][3]string `json:"causes,omitempty"`
}

const named = "everything"

// The time of a step: steps are a second apart, so that their order counts.
func timeOf(number int) string { return fmt.Sprintf("2024-01-01T00:00:%02dZ", number) }

func (w *world) take(live m, number int, s *step) m {
	if live == nil {
		live = m{"kind": kind}
	}
	live["apiVersion"] = group + "/" + s.Version
	manager := w.manager(s.Version, s.Subresource)
	ask := func() (m, error) {
		before := &unstructured.Unstructured{Object: decode(encode(live))}
		given := &unstructured.Unstructured{Object: decode(encode(s.Object))}
		if s.Operation == "update" {
			result, err := manager.Update(before, given, s.Manager)
			if err != nil {
				given.SetManagedFields(nil)
				return given.Object, err
			}
			return result.(*unstructured.Unstructured).Object, nil
		}
		result, err := manager.Apply(before, given, s.Manager, s.Force)
		if err != nil {
			return nil, err
		}
		return result.(*unstructured.Unstructured).Object, nil
	}
	result, err := ask()
	if err != nil {
		s.note(err, w.once, func() error { _, err := ask(); return err })
	}
	if result == nil {
		return live
	}
	settle(result, number)
	// As the handler answers, in the version of the request.
	result["apiVersion"] = group + "/" + s.Version
	s.Result = result
	return result
}

func (s *step) note(err error, once bool, ask func() error) {
	var status *apierrors.StatusError
	if errors.As(err, &status) && status.ErrStatus.Details != nil {
		for _, cause := range status.ErrStatus.Details.Causes {
			s.Causes = append(s.Causes, [3]string{string(cause.Type), cause.Message, cause.Field})
		}
		sort.Slice(s.Causes, func(i, j int) bool { return fmt.Sprint(s.Causes[i]) < fmt.Sprint(s.Causes[j]) })
	}
	s.Error = err.Error()
	if !once {
		s.Error = steady(ask)
	}
	// Addresses of memory, and an entry printed as Go prints a struct.
	if strings.Contains(s.Error, "error decoding versioned set from") {
		s.Error = "*"
	}
}

// Gives what was written now the time of the step.
func settle(object m, number int) {
	metadata, _ := object["metadata"].(m)
	entries, _ := metadata["managedFields"].(l)
	for _, entry := range entries {
		fields := entry.(m)
		if text, ok := fields["time"].(string); ok && !strings.HasPrefix(text, "2024-01-01T") && !strings.HasPrefix(text, "2023-") {
			fields["time"] = timeOf(number)
		}
	}
}

func (s script) schemas() map[string]m {
	schemas := map[string]m{}
	for version, schema := range s.Versions {
		if schema == named {
			schemas[version] = everything()
		} else {
			schemas[version] = schema.(m)
		}
	}
	return schemas
}

func run(s script) script {
	w := newWorld(s.schemas(), s.Status)
	var live m
	for i := range s.Steps {
		live = w.take(live, i, &s.Steps[i])
		live = decode(encode(live))
		if metadata, ok := live["metadata"].(m); ok && s.Steps[i].Result != nil {
			metadata["uid"] = "u"
		}
	}
	return s
}

func randomScripts(r generator) []any {
	var all []any
	for i := range 220 {
		s := script{Status: r.chance(70)}
		root := r.rootSchema()
		if i%3 == 0 {
			root = small(r)
		}
		s.Versions = map[string]any{"v1": root}
		switch {
		case r.chance(15):
			s.Versions["v2"] = root
		case r.chance(10):
			s.Versions["v2"] = atomicTwin(root)
		}
		all = append(all, r.run(newWorld(s.schemas(), s.Status), s, root))
	}
	return all
}

// Part of everything, so that the same fields are met often.
func small(r generator) m {
	root := everything()
	spec := root["properties"].(m)["spec"].(m)["properties"].(m)
	for _, name := range sortedKeys(spec) {
		if r.chance(60) {
			delete(spec, name)
		}
	}
	if len(spec) == 0 {
		spec["text"] = text()
	}
	return root
}

// The same schema, where lists of the spec merge as a whole.
func atomicTwin(root m) m {
	twin := decode(encode(root))
	spec, _ := twin["properties"].(m)["spec"].(m)["properties"].(m)
	for _, name := range sortedKeys(spec) {
		field := spec[name].(m)
		if field["type"] == "array" {
			delete(field, "x-kubernetes-list-type")
			delete(field, "x-kubernetes-list-map-keys")
		}
	}
	return twin
}

func (r generator) run(w *world, s script, root m) script {
	var live m
	var applied = map[string]m{}
	for i := range 3 + r.Intn(5) {
		version := "v1"
		if len(w.versions) > 1 && r.chance(40) {
			version = "v2"
		}
		next := step{Version: version, Manager: pick(r, "a", "b", "c", "kubectl"), Force: r.chance(25), Operation: "apply"}
		if s.Status && r.chance(20) {
			next.Subresource = "status"
		}
		switch {
		case len(s.Steps) > 0 && r.chance(15):
			next = s.Steps[len(s.Steps)-1]
			next.Result, next.Error, next.Causes = nil, "", nil
		case r.chance(40):
			next.Operation, next.Force = "update", false
			next.Object = r.object(root, version, 3)
			if live != nil {
				next.Object = r.mixed(decode(encode(live)), next.Object)
				next.Object["metadata"].(m)["uid"] = "u"
			}
			r.claim(live, next.Object)
		case applied[next.Manager] != nil && r.chance(60):
			next.Object = r.mixed(decode(encode(applied[next.Manager])), r.object(root, version, 3))
		default:
			next.Object = r.object(root, version, 3)
			if live != nil && r.chance(40) {
				next.Object = r.mixed(next.Object, decode(encode(live)))
				delete(next.Object["metadata"].(m), "managedFields")
				delete(next.Object["metadata"].(m), "uid")
			}
		}
		next.Object["apiVersion"], next.Object["kind"] = group+"/"+next.Version, kind
		next.Object = decode(encode(next.Object))
		if next.Operation == "apply" {
			delete(next.Object["metadata"].(m), "managedFields")
			applied[next.Manager] = next.Object
		}
		after := decode(encode(w.take(live, i, &next)))
		if next.Result != nil {
			live = after
			// Whoever owned all of the metadata may have applied none.
			if metadata, _ := live["metadata"].(m); metadata["name"] != nil {
				metadata["uid"] = "u"
			}
		}
		s.Steps = append(s.Steps, next)
	}
	return s
}

// What a client says of owners: mostly nothing, or what it has read.
func (r generator) claim(live, object m) {
	metadata := object["metadata"].(m)
	delete(metadata, "managedFields")
	if r.bold && r.forge(object) {
		return
	}
	before, _ := live["metadata"].(m)
	switch n := r.Intn(100); {
	case n < 50 && before["managedFields"] != nil:
		metadata["managedFields"] = before["managedFields"]
	case n == 95:
		metadata["managedFields"] = l{}
	case n == 96:
		metadata["managedFields"] = l{m{}}
	case n == 97:
		metadata["managedFields"] = l{m{"manager": "x", "operation": "Update", "apiVersion": group + "/v1", "fieldsType": "FieldsV1", "fieldsV1": m{"f:spec": m{"f:a": m{}}}}}
	}
}

func raw(text string) m { return decode(json.RawMessage(text)) }
