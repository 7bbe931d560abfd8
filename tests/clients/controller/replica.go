package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// A process that runs the controller, as far as the server can tell.
type replica struct {
	name    string
	elected <-chan struct{}
	cancel  context.CancelFunc
	ended   chan error
}

func start(ctx context.Context, rest *rest.Config, scheme *runtime.Scheme, namespace, name string) (*replica, error) {
	lease, renew, retry := 4*time.Second, 3*time.Second, 200*time.Millisecond
	twoInOneProcess := true
	manager, err := ctrl.NewManager(rest, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics:                       server.Options{BindAddress: "0"},
		Controller:                    config.Controller{SkipNameValidation: &twoInOneProcess},
		LeaderElection:                true,
		LeaderElectionID:              "greeter.example.dev",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease,
		RenewDeadline:                 &renew,
		RetryPeriod:                   &retry,
	})
	if err != nil {
		return nil, err
	}
	reconciler := &greeter{Client: manager.GetClient(), replica: name}
	err = ctrl.NewControllerManagedBy(manager).For(&Greeting{}).Owns(&corev1.ConfigMap{}).Complete(reconciler)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	started := &replica{name: name, elected: manager.Elected(), cancel: cancel, ended: make(chan error, 1)}
	go func() { started.ended <- manager.Start(ctx) }()
	return started, nil
}

// Waits until it is the one that works.
func (r *replica) leads(ctx context.Context) error {
	select {
	case <-r.elected:
		return nil
	case err := <-r.ended:
		return fmt.Errorf("the %s replica ended: %w", r.name, err)
	case <-ctx.Done():
		return fmt.Errorf("the %s replica was not elected: %w", r.name, ctx.Err())
	}
}

func (r *replica) hasLed() bool {
	select {
	case <-r.elected:
		return true
	default:
		return false
	}
}

func (r *replica) stop(ctx context.Context) error {
	r.cancel()
	select {
	case err := <-r.ended:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the %s replica did not end: %w", r.name, ctx.Err())
	}
}
