package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

func makeNamespace(ctx context.Context, objects dynamic.Interface) (string, error) {
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "Namespace",
		"metadata":   map[string]any{"generateName": "client-go-"},
	}}
	made, err := objects.Resource(namespaces).Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("make a namespace: %w", err)
	}
	return made.GetName(), nil
}

func claim(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": claims.GroupVersion().String(),
		"kind":       "ResourceCatalogEntry",
		"metadata":   map[string]any{"name": name},
		"spec": map[string]any{
			"description": "gold",
			"extension":   map[string]any{"apiVersion": "example.com/v1", "kind": "Template"},
		},
	}}
}

func create(ctx context.Context, objects dynamic.Interface, namespace string, names ...string) error {
	for _, name := range names {
		if _, err := objects.Resource(claims).Namespace(namespace).Create(ctx, claim(name), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create %q: %w", name, err)
		}
	}
	return nil
}
