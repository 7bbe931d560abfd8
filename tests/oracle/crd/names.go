package main

import (
	"context"
	"encoding/json"
	"time"

	"k8s.io/klog/v2"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/fake"
	"k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	"k8s.io/apiextensions-apiserver/pkg/controller/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// What becomes of the names that a definition wants, beside others that have theirs.
type named struct {
	Wanted json.RawMessage `json:"wanted"`
	// The status that it has so far.
	Status json.RawMessage `json:"status"`
	// The names that others have.
	Others []json.RawMessage `json:"others"`
	// The status that it has then; absent if nothing becomes of it.
	Result any `json:"result,omitempty"`
}

const wanted = `{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList","shortNames":["wd","wg"],"categories":["all"]}`

func names() []named {
	established := `,"conditions":[{"type":"NamesAccepted","status":"True","reason":"NoConflicts","message":"no conflicts found"},{"type":"Established","status":"True","reason":"InitialNamesAccepted","message":"the initial names have been accepted"}]`
	refused := `,"conditions":[{"type":"NamesAccepted","status":"False","reason":"PluralConflict","message":"x"},{"type":"Established","status":"False","reason":"NotAccepted","message":"not all names are accepted"}]`
	old := `{"acceptedNames":{"plural":"widgets","singular":"old","kind":"Old","listKind":"OldList","shortNames":["o","wd"]}`
	statuses := []string{`{}`, `{"acceptedNames":` + wanted + established + `}`, old + established + `}`, old + refused + `}`, old + `}`}
	others := [][]string{
		{}, {`{"plural":"widgets","kind":"X","listKind":"XList"}`}, {`{"plural":"x","singular":"widget","kind":"X","listKind":"XList"}`}, {`{"plural":"x","singular":"xx","kind":"X","listKind":"XList","shortNames":["widgets"]}`},
		{`{"plural":"x","kind":"X","listKind":"XList","shortNames":["wd"]}`}, {`{"plural":"wg","singular":"wd","kind":"X","listKind":"XList"}`}, {`{"plural":"x","kind":"Widget","listKind":"XList"}`}, {`{"plural":"x","kind":"WidgetList","listKind":"Widget"}`},
		{`{"plural":"x","kind":"X","listKind":"WidgetList"}`}, {`{"plural":"widget","kind":"Widget","listKind":"XList","shortNames":["wd","wg"]}`, `{"plural":"y","kind":"Y","listKind":"WidgetList","singular":"widgets"}`}, {`{"plural":"widget.s","kind":"wid<get","listKind":"L"}`},
	}
	var out []named
	for _, status := range statuses {
		for _, names := range others {
			n := named{Wanted: compact(wanted), Status: compact(status), Others: []json.RawMessage{}}
			for _, name := range names {
				n.Others = append(n.Others, compact(name))
			}
			n.Result = n.ask()
			out = append(out, n)
		}
	}
	return out
}

func (n named) ask() any {
	crd := func(name string, names, status json.RawMessage) *apiextensionsv1.CustomResourceDefinition {
		var crd apiextensionsv1.CustomResourceDefinition
		must(utiljson.Unmarshal(names, &crd.Spec.Names))
		must(utiljson.Unmarshal(status, &crd.Status))
		crd.Name, crd.Spec.Group, crd.ResourceVersion = name+".example.dev", "example.dev", "1"
		return &crd
	}
	objects := []runtime.Object{crd("widgets", n.Wanted, n.Status)}
	for i, names := range n.Others {
		objects = append(objects, crd(string(rune('a'+i)), names, encode(map[string]any{"acceptedNames": names})))
	}
	client := fake.NewSimpleClientset(objects...)
	factory := externalversions.NewSharedInformerFactory(client, 0)
	controller := status.NewNamingConditionController(klog.Background(), factory.Apiextensions().V1().CustomResourceDefinitions(), client.ApiextensionsV1())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	go controller.RunWithContext(ctx)
	// What does not happen at once does not happen.
	for range 30 {
		time.Sleep(10 * time.Millisecond)
		for _, action := range client.Actions() {
			if action.GetVerb() != "update" {
				continue
			}
			got, err := client.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, "widgets.example.dev", metav1.GetOptions{})
			must(err)
			for i := range got.Status.Conditions {
				got.Status.Conditions[i].LastTransitionTime = metav1.Time{}
			}
			return got.Status
		}
	}
	return nil
}
