package main

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var greetings = schema.GroupVersion{Group: "example.dev", Version: "v1"}

// Greeting is what the controller looks after: it becomes a ConfigMap of the same name.
type Greeting struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GreetingSpec   `json:"spec,omitempty"`
	Status            GreetingStatus `json:"status,omitempty"`
}

// GreetingSpec says what is wanted.
type GreetingSpec struct {
	Text string `json:"text"`
}

// GreetingStatus says what was done, and which replica did it.
type GreetingStatus struct {
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
	By                 string `json:"by,omitempty"`
}

// GreetingList is what informers list.
type GreetingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Greeting `json:"items"`
}

func (g *Greeting) copy() *Greeting {
	copied := *g
	copied.ObjectMeta = *g.ObjectMeta.DeepCopy()
	return &copied
}

// DeepCopyObject makes it an object of controller-runtime.
func (g *Greeting) DeepCopyObject() runtime.Object { return g.copy() }

// DeepCopyObject makes it a list of controller-runtime.
func (l *GreetingList) DeepCopyObject() runtime.Object {
	copied := &GreetingList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy(), Items: make([]Greeting, len(l.Items))}
	for number := range l.Items {
		copied.Items[number] = *l.Items[number].copy()
	}
	return copied
}

func addGreeting(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(greetings, &Greeting{}, &GreetingList{})
	metav1.AddToGroupVersion(scheme, greetings)
	return nil
}

// Makes the definition, and waits until the kind is served.
func install(ctx context.Context, server client.Client) error {
	definition := definition()
	if err := server.Create(ctx, definition); err != nil && !errors.IsAlreadyExists(err) {
		return err
	}
	return eventually(ctx, "the kind is established", func() (bool, error) {
		if err := server.Get(ctx, client.ObjectKeyFromObject(definition), definition); err != nil {
			return false, err
		}
		for _, condition := range definition.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
}

func definition() *apiextensionsv1.CustomResourceDefinition {
	object := func(properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
	}
	text, number := apiextensionsv1.JSONSchemaProps{Type: "string"}, apiextensionsv1.JSONSchemaProps{Type: "integer", Format: "int64"}
	root := object(map[string]apiextensionsv1.JSONSchemaProps{
		"spec":   object(map[string]apiextensionsv1.JSONSchemaProps{"text": text}),
		"status": object(map[string]apiextensionsv1.JSONSchemaProps{"observedGeneration": number, "by": text}),
	})
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "greetings." + greetings.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: greetings.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "greetings", Kind: "Greeting"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: greetings.Version, Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &root},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}
