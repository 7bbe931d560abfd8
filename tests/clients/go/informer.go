package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// How long an event may take to arrive.
const eventLimit = 10 * time.Second

// seen is what a handler of an informer was told.
type seen struct {
	what    string
	name    string
	version string
}

// informer checks that a shared informer is filled by a stream, sees every change in order, and ends with what a list has.
func informer(ctx context.Context, objects dynamic.Interface, requests *requests, namespace string) error {
	if err := create(ctx, objects, namespace, "a", "b", "c", "d", "e"); err != nil {
		return err
	}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(objects, 0, namespace, nil)
	shared := factory.ForResource(claims).Informer()
	events := make(chan seen, 100)
	if _, err := shared.AddEventHandler(handler(events)); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !synced(ctx, shared) {
		return fmt.Errorf("not synced within %v", eventLimit)
	}
	if lists, streams := requests.counts(); lists != 0 || streams != 1 {
		return fmt.Errorf("filled by %d lists and %d streams, and not by one stream alone", lists, streams)
	}
	for range 5 {
		if _, err := next(events, "added"); err != nil {
			return err
		}
	}
	if err := change(ctx, objects.Resource(claims).Namespace(namespace), events); err != nil {
		return err
	}
	return compare(ctx, objects, shared.GetStore(), namespace)
}

// change does everything that can be done to an object, and expects to see it done.
func change(ctx context.Context, client dynamic.ResourceInterface, events <-chan seen) error {
	made, err := client.Create(ctx, claim("f"), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := expect(events, "added", made); err != nil {
		return err
	}
	if err := unstructured.SetNestedField(made.Object, "silver", "spec", "description"); err != nil {
		return err
	}
	updated, err := client.Update(ctx, made, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	if err := expect(events, "updated", updated); err != nil {
		return err
	}
	if _, err := client.Update(ctx, made, metav1.UpdateOptions{}); err == nil {
		return fmt.Errorf("an update of an old version went through")
	}
	patch := []byte(`{"status": {"serviceAccount": {"name": "three", "uid": "3"}}}`)
	patched, err := client.Patch(ctx, "f", types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("patch the status: %w", err)
	}
	if err := expect(events, "updated", patched); err != nil {
		return err
	}
	uid := patched.GetUID()
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if err := client.Delete(ctx, "f", options); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	_, err = next(events, "deleted")
	return err
}

// compare checks that a store has what a list has.
func compare(ctx context.Context, objects dynamic.Interface, store cache.Store, namespace string) error {
	list, err := objects.Resource(claims).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 2})
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	items := list.Items
	for list.GetContinue() != "" {
		options := metav1.ListOptions{Limit: 2, Continue: list.GetContinue()}
		if list, err = objects.Resource(claims).Namespace(namespace).List(ctx, options); err != nil {
			return fmt.Errorf("go on with a list: %w", err)
		}
		items = append(items, list.Items...)
	}
	if len(items) != 5 || len(store.List()) != 5 {
		return fmt.Errorf("%d objects in the list and %d in the store, not 5", len(items), len(store.List()))
	}
	for _, item := range items {
		stored, exists, err := store.GetByKey(namespace + "/" + item.GetName())
		if err != nil || !exists {
			return fmt.Errorf("%q is in the list and not in the store (%v)", item.GetName(), err)
		}
		if version := stored.(metav1.Object).GetResourceVersion(); version != item.GetResourceVersion() {
			return fmt.Errorf("%q is at %s in the store and at %s in the list", item.GetName(), version, item.GetResourceVersion())
		}
	}
	return nil
}

func handler(events chan<- seen) cache.ResourceEventHandler {
	tell := func(what string, object any) {
		if deleted, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = deleted.Obj
		}
		meta := object.(metav1.Object)
		events <- seen{what: what, name: meta.GetName(), version: meta.GetResourceVersion()}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { tell("added", object) },
		UpdateFunc: func(_, object any) { tell("updated", object) },
		DeleteFunc: func(object any) { tell("deleted", object) },
	}
}

func synced(ctx context.Context, shared cache.SharedIndexInformer) bool {
	ctx, cancel := context.WithTimeout(ctx, eventLimit)
	defer cancel()
	return cache.WaitForCacheSync(ctx.Done(), shared.HasSynced)
}

func next(events <-chan seen, what string) (seen, error) {
	select {
	case event := <-events:
		if event.what != what {
			return event, fmt.Errorf("%q was %s at %s, and not %s", event.name, event.what, event.version, what)
		}
		return event, nil
	case <-time.After(eventLimit):
		return seen{}, fmt.Errorf("nothing was %s within %v", what, eventLimit)
	}
}

func expect(events <-chan seen, what string, object *unstructured.Unstructured) error {
	event, err := next(events, what)
	if err != nil {
		return err
	}
	if event.name != object.GetName() || event.version != object.GetResourceVersion() {
		return fmt.Errorf("%v, and not %q at %s", event, object.GetName(), object.GetResourceVersion())
	}
	return nil
}
