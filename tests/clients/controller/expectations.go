package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// A Greeting's life: it is made, changed, interfered with, and deleted, and each time the controller does its work.
func greets(ctx context.Context, server client.Client, namespace, name, replica string) error {
	greeting := &Greeting{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: GreetingSpec{Text: "hello"}}
	if err := server.Create(ctx, greeting); err != nil {
		return err
	}
	if err := isGreeted(ctx, server, greeting, replica, "hello"); err != nil {
		return err
	}
	if !controllerutil.ContainsFinalizer(greeting, finalizer) {
		return fmt.Errorf("no finalizer on %v", greeting.ObjectMeta)
	}
	greeting.Spec.Text = "welcome"
	if err := server.Update(ctx, greeting); err != nil {
		return err
	}
	if err := isGreeted(ctx, server, greeting, replica, "welcome"); err != nil {
		return err
	}
	if err := survivesOthers(ctx, server, greeting); err != nil {
		return err
	}
	return goes(ctx, server, greeting)
}

// Waits until the ConfigMap and the status say what they should.
func isGreeted(ctx context.Context, server client.Client, greeting *Greeting, replica, text string) error {
	key := client.ObjectKeyFromObject(greeting)
	return eventually(ctx, fmt.Sprintf("%s is greeted by %q", key, text), func() (bool, error) {
		made := &corev1.ConfigMap{}
		if err := server.Get(ctx, key, made); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		if err := server.Get(ctx, key, greeting); err != nil {
			return false, err
		}
		status := GreetingStatus{ObservedGeneration: greeting.Generation, By: replica}
		return made.Data["text"] == text && metav1.IsControlledBy(made, greeting) && greeting.Status == status, nil
	})
}

// Who changes what the controller owns is put right, by the event of that change; what is someone else's stays.
func survivesOthers(ctx context.Context, server client.Client, greeting *Greeting) error {
	key := client.ObjectKeyFromObject(greeting)
	other := applycorev1.ConfigMap(key.Name, key.Namespace).WithData(map[string]string{"text": "go away"})
	if err := server.Apply(ctx, other, client.FieldOwner("other")); !errors.IsConflict(err) {
		return fmt.Errorf("an apply of what the controller owns: %v", err)
	}
	other = other.WithData(map[string]string{"note": "mine"})
	if err := server.Apply(ctx, other, client.FieldOwner("other"), client.ForceOwnership); err != nil {
		return err
	}
	return eventually(ctx, "both have their part", func() (bool, error) {
		found := &corev1.ConfigMap{}
		if err := server.Get(ctx, key, found); err != nil {
			return false, err
		}
		return found.Data["text"] == greeting.Spec.Text && found.Data["note"] == "mine", nil
	})
}

// A Greeting that is deleted is gone once the controller has done its last.
func goes(ctx context.Context, server client.Client, greeting *Greeting) error {
	if err := server.Delete(ctx, greeting); err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(greeting)
	return eventually(ctx, "it is gone", func() (bool, error) {
		gone := func(object client.Object) bool { return errors.IsNotFound(server.Get(ctx, key, object)) }
		farewell := client.ObjectKey{Namespace: key.Namespace, Name: key.Name + "-farewell"}
		if !gone(&Greeting{}) || !gone(&corev1.ConfigMap{}) {
			return false, nil
		}
		return true, server.Get(ctx, farewell, &corev1.ConfigMap{})
	})
}

// Looks until something is so, or fails.
func eventually(ctx context.Context, what string, look func() (bool, error)) error {
	for {
		if is, err := look(); err != nil || is {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it never happened that %s: %w", what, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
