package main

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// What typed clients send unless they are told otherwise.
const protobuf = "application/vnd.kubernetes.protobuf"

// typed does with a config map what programs do: everything goes to and fro in protobuf.
func typed(ctx context.Context, client *corev1client.CoreV1Client, requests *requests, namespace string) error {
	maps := client.ConfigMaps(namespace)
	yes := true
	made, err := maps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: "typed", Labels: map[string]string{"from": "go"}, Finalizers: []string{"example.com/a"},
		},
		Data: map[string]string{"text": "ü", "empty": ""}, BinaryData: map[string][]byte{"bytes": {0, 1, 255}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if made.UID == "" || made.Data["text"] != "ü" || string(made.BinaryData["bytes"]) != "\x00\x01\xff" {
		return fmt.Errorf("create returned %v", made)
	}
	list, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "from=go"})
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	if len(list.Items) != 1 || list.Items[0].UID != made.UID || list.ResourceVersion == "" {
		return fmt.Errorf("list returned %v", list)
	}
	events, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: made.ResourceVersion, LabelSelector: "from=go"})
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer events.Stop()
	made.Immutable = &yes
	updated, err := maps.Update(ctx, made, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	if err := expectEvent(events, watch.Modified, updated.ResourceVersion); err != nil {
		return err
	}
	patch := []byte(`{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/a"],"labels":{"more":"yes"}}}`)
	patched, err := maps.Patch(ctx, "typed", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	if len(patched.Finalizers) != 0 || patched.Labels["more"] != "yes" {
		return fmt.Errorf("patch returned %v", patched)
	}
	if err := expectEvent(events, watch.Modified, patched.ResourceVersion); err != nil {
		return err
	}
	other := metav1.Preconditions{UID: &[]types.UID{"another"}[0]}
	if err := maps.Delete(ctx, "typed", metav1.DeleteOptions{Preconditions: &other}); !errors.IsConflict(err) {
		return fmt.Errorf("a deletion of another object: %v", err)
	}
	if err := maps.Delete(ctx, "typed", *metav1.NewPreconditionDeleteOptions(string(made.UID))); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if err := expectEvent(events, watch.Deleted, ""); err != nil {
		return err
	}
	if _, err := maps.Get(ctx, "typed", metav1.GetOptions{}); !errors.IsNotFound(err) {
		return fmt.Errorf("get after delete: %v", err)
	}
	return requests.allIn(protobuf, "/configmaps")
}

func expectEvent(events watch.Interface, kind watch.EventType, version string) error {
	event, open := <-events.ResultChan()
	object, ok := event.Object.(*corev1.ConfigMap)
	if !open || !ok || event.Type != kind || version != "" && object.ResourceVersion != version {
		return fmt.Errorf("expected %s of version %q, and saw %v", kind, version, event)
	}
	return nil
}

// allIn tells whether all answers about some paths came in an encoding.
func (r *requests) allIn(encoding, part string) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	seen := 0
	for path, found := range r.answers {
		if !strings.Contains(path, part) {
			continue
		}
		seen++
		for _, contentType := range found {
			if !strings.HasPrefix(contentType, encoding) {
				return fmt.Errorf("%s was answered in %s", path, contentType)
			}
		}
	}
	if seen == 0 {
		return fmt.Errorf("nothing was asked of %s", part)
	}
	return nil
}
