package main

import (
	"encoding/json"
	"io"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const (
	group = "example.dev"
	kind  = "Thing"
)

type m = map[string]any
type l = []any

// What is expected to fail need not be logged.
func silence() {
	utilruntime.ErrorHandlers = nil
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	must(err)
	return b
}

func decode(text json.RawMessage) m {
	var v m
	must(utiljson.Unmarshal(text, &v))
	return v
}

// A kind in its versions, the first of which is stored.
type world struct {
	versions  []string
	status    bool
	converter managedfields.TypeConverter
	tops      map[string][]string
	// Whether errors are asked for once only, so that some are but one of several that upstream may give.
	once bool
}

func newWorld(schemas map[string]m, status bool) *world {
	w := &world{status: status, tops: map[string][]string{}}
	models := map[string]*spec.Schema{}
	for _, version := range []string{"v1", "v2"} {
		root, ok := schemas[version]
		if !ok {
			continue
		}
		w.versions = append(w.versions, version)
		for _, name := range sortedKeys(root["properties"].(m)) {
			if name != "status" {
				w.tops[version] = append(w.tops[version], name)
			}
		}
		props := &apiextensionsv1.JSONSchemaProps{}
		must(json.Unmarshal(encode(root), props))
		crd := &apiextensionsv1.CustomResourceDefinition{}
		crd.Name = "things." + group
		crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: "things"},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: props},
			}},
		}
		document, err := builder.BuildOpenAPIV3(crd, version, builder.Options{})
		must(err)
		if model := document.Components.Schemas["dev.example."+version+"."+kind]; len(model.Properties) == 0 {
			panic("not structural: " + string(encode(root)))
		}
		for name, model := range document.Components.Schemas {
			models[name] = model
		}
	}
	var err error
	w.converter, err = managedfields.NewTypeConverter(models, false)
	must(err)
	return w
}

// The field manager of a version and a subresource, reset as custom resources are: a write of the object does not change
// the status, one of the status changes nothing else.
func (w *world) manager(version, subresource string) *managedfields.FieldManager {
	reset := map[fieldpath.APIVersion]*fieldpath.Set{}
	switch {
	case !w.status:
	case subresource == "":
		reset[fieldpath.APIVersion(group+"/"+version)] = fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	case subresource == "status":
		for _, version := range w.versions {
			set := fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec"))
			for _, name := range w.tops[version] {
				set.Insert(fieldpath.MakePathOrDie(name))
			}
			reset[fieldpath.APIVersion(group+"/"+version)] = set
		}
	}
	manager, err := managedfields.NewDefaultCRDFieldManager(
		w.converter, w, noDefaults{}, w, gvk(version), schema.GroupVersion{Group: group, Version: "v1"}, subresource,
		fieldpath.NewExcludeFilterSetMap(reset),
	)
	must(err)
	return manager
}

func gvk(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

func (w *world) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{Object: m{}}
	object.SetGroupVersionKind(kind)
	return object, nil
}

func (w *world) Convert(in, out, context any) error { panic("not asked for") }

func (w *world) ConvertFieldLabel(gvk schema.GroupVersionKind, label, value string) (string, string, error) {
	panic("not asked for")
}

// All versions have the same fields.
func (w *world) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	to := target.(schema.GroupVersion)
	for _, version := range w.versions {
		if (schema.GroupVersion{Group: group, Version: version}) == to {
			out := in.DeepCopyObject()
			out.GetObjectKind().SetGroupVersionKind(to.WithKind(in.GetObjectKind().GroupVersionKind().Kind))
			return out, nil
		}
	}
	return nil, runtime.NewNotRegisteredGVKErrForTarget("world", to.WithKind(kind), target)
}

type noDefaults struct{}

func (noDefaults) Default(runtime.Object) {}
