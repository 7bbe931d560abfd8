// A controller as people write them with controller-runtime: informers, leader election, finalizers, server-side apply, and a
// kind of its own that it installs.
//
//	go run . --kubeconfig FILE
//
// It makes a namespace of its own, has two replicas of the controller run there, prints what it saw, and fails with the first
// expectation that was not met.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// How long the server may take for everything.
const limit = 60 * time.Second

func main() {
	// controller-runtime registers --kubeconfig for itself.
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := run(ctx, flag.Lookup("kubeconfig").Value.String()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("everything was seen")
}

func run(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 1000, 1000
	scheme, err := knownKinds()
	if err != nil {
		return err
	}
	// Not the managers' client, which reads from their caches: what is expected is expected of the server.
	server, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	if err := install(ctx, server); err != nil {
		return fmt.Errorf("installing the kind: %w", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "controller-"}}
	if err := server.Create(ctx, namespace); err != nil {
		return err
	}
	if err := lead(ctx, config, scheme, server, namespace.Name); err != nil {
		return err
	}
	return server.Delete(ctx, namespace)
}

// Two replicas: the first works, and when it ends the other goes on.
func lead(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, server client.Client, namespace string) error {
	first, err := start(ctx, config, scheme, namespace, "first")
	if err != nil {
		return err
	}
	if err := first.leads(ctx); err != nil {
		return err
	}
	second, err := start(ctx, config, scheme, namespace, "second")
	if err != nil {
		return err
	}
	if err := greets(ctx, server, namespace, "hello", first.name); err != nil {
		return fmt.Errorf("the first replica: %w", err)
	}
	if second.hasLed() {
		return fmt.Errorf("the second replica leads beside the first")
	}
	if err := first.stop(ctx); err != nil {
		return err
	}
	if err := second.leads(ctx); err != nil {
		return err
	}
	if err := greets(ctx, server, namespace, "good-day", second.name); err != nil {
		return fmt.Errorf("the second replica: %w", err)
	}
	return second.stop(ctx)
}

func knownKinds() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, addGreeting} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}
