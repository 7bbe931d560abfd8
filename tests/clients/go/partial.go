package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
)

// partial checks what the controllers of a cluster do: they know objects only by their metadata.
func partial(ctx context.Context, client metadata.Interface, namespace string) error {
	factory := metadatainformer.NewFilteredSharedInformerFactory(client, 0, namespace, nil)
	shared := factory.ForResource(claims).Informer()
	events := make(chan seen, 100)
	if _, err := shared.AddEventHandler(handler(events)); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !synced(ctx, shared) {
		return fmt.Errorf("not synced within %v", eventLimit)
	}
	for range 5 {
		if _, err := next(events, "added"); err != nil {
			return err
		}
	}
	claims := client.Resource(claims).Namespace(namespace)
	patch := []byte(`{"metadata": {"finalizers": ["example.com/keep"]}}`)
	patched, err := claims.Patch(ctx, "a", types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	if len(patched.Finalizers) != 1 {
		return fmt.Errorf("a patch gave the finalizers %v, and not one", patched.Finalizers)
	}
	event, err := next(events, "updated")
	if err != nil {
		return err
	}
	if event.version != patched.ResourceVersion {
		return fmt.Errorf("%v, and not %s as the patch was answered", event, patched.ResourceVersion)
	}
	background := metav1.DeletePropagationBackground
	if err := claims.Delete(ctx, "a", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if _, err := next(events, "updated"); err != nil {
		return err
	}
	if _, err := claims.Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("take the finalizer: %w", err)
	}
	if _, err := next(events, "deleted"); err != nil {
		return err
	}
	if err := claims.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("delete the rest: %w", err)
	}
	for range 4 {
		if _, err := next(events, "deleted"); err != nil {
			return err
		}
	}
	return nil
}
