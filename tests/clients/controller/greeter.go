package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	owner     = "greeter"
	finalizer = "example.dev/farewell"
)

// Makes a ConfigMap of each Greeting, and another when it goes.
type greeter struct {
	client.Client
	replica string
}

func (g *greeter) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	greeting := &Greeting{}
	if err := g.Get(ctx, request.NamespacedName, greeting); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !greeting.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, g.farewell(ctx, greeting)
	}
	if controllerutil.AddFinalizer(greeting, finalizer) {
		return ctrl.Result{}, g.Update(ctx, greeting)
	}
	if err := g.apply(ctx, greeting, greeting.Name, greeting.Spec.Text); err != nil {
		return ctrl.Result{}, err
	}
	told := greeting.copy()
	told.Status = GreetingStatus{ObservedGeneration: greeting.Generation, By: g.replica}
	return ctrl.Result{}, g.Status().Patch(ctx, told, client.MergeFrom(greeting))
}

// What must happen before a Greeting is gone.
func (g *greeter) farewell(ctx context.Context, greeting *Greeting) error {
	farewell := applycorev1.ConfigMap(greeting.Name+"-farewell", greeting.Namespace).WithData(map[string]string{"text": "farewell"})
	if err := g.Apply(ctx, farewell, client.FieldOwner(owner), client.ForceOwnership); err != nil {
		return err
	}
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: greeting.Namespace, Name: greeting.Name}}
	if err := g.Delete(ctx, made); client.IgnoreNotFound(err) != nil {
		return err
	}
	if controllerutil.RemoveFinalizer(greeting, finalizer) {
		return g.Update(ctx, greeting)
	}
	return nil
}

func (g *greeter) apply(ctx context.Context, greeting *Greeting, name, text string) error {
	reference := applymetav1.OwnerReference().
		WithAPIVersion(greetings.String()).WithKind("Greeting").WithName(greeting.Name).WithUID(greeting.UID).
		WithController(true).WithBlockOwnerDeletion(true)
	wanted := applycorev1.ConfigMap(name, greeting.Namespace).WithOwnerReferences(reference).WithData(map[string]string{"text": text})
	return g.Apply(ctx, wanted, client.FieldOwner(owner), client.ForceOwnership)
}
