// The clients of Go programs: what client-go's informers and its dynamic, metadata and typed clients expect of a server.
//
//	go run . --kubeconfig FILE [--refused-within 1s]
//
// It makes a namespace of its own, prints what it saw, and fails with the first expectation that was not met.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"
)

// How long the server may take for everything.
const limit = 60 * time.Second

var claims = schema.GroupVersionResource{
	Group: "catalog.bailiwick.dev", Version: "v1alpha1", Resource: "resourcecatalogentries",
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the server, and as whom to come")
	soon := flag.Duration("refused-within", 0, "how soon a token is refused whose account is gone; not asked if 0")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := run(ctx, *kubeconfig, *soon); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("everything was seen")
}

func run(ctx context.Context, kubeconfig string, soon time.Duration) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	// The default of 5 requests a second would be all that is measured.
	config.QPS, config.Burst = 1000, 1000
	requests := &requests{}
	config.Wrap(requests.wrap)

	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	namespace, err := makeNamespace(ctx, objects)
	if err != nil {
		return err
	}
	if err := informer(ctx, objects, requests, namespace); err != nil {
		return fmt.Errorf("a shared informer: %w", err)
	}
	known, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := partial(ctx, known, namespace); err != nil {
		return fmt.Errorf("an informer of metadata: %w", err)
	}
	typedClient, err := corev1client.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := typed(ctx, typedClient, requests, namespace); err != nil {
		return fmt.Errorf("a typed client: %w", err)
	}
	if soon > 0 {
		if err := tokens(ctx, config, namespace, soon); err != nil {
			return fmt.Errorf("a service account: %w", err)
		}
	}
	if err := openapi(ctx, config); err != nil {
		return fmt.Errorf("OpenAPI: %w", err)
	}
	return nil
}
