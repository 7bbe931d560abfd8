// Records what upstream's serializers, discovery handlers and table convertor write, for objects made up from a fixed
// seed.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/registry/rest"
)

var (
	random = rand.New(rand.NewSource(1))
	scheme = runtime.NewScheme()
	codecs = serializer.NewCodecFactory(scheme)
	pb     = protobuf.NewSerializer(scheme, scheme)
	pbRaw  = protobuf.NewRawSerializer(scheme, scheme)
)

type object struct {
	JSON  json.RawMessage `json:"json"`
	Proto string          `json:"proto"`
}

type frame struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
	Proto  string          `json:"proto"`
	JSON   string          `json:"json"`
}

type table struct {
	Object json.RawMessage `json:"object"`
	Table  json.RawMessage `json:"table"`
}

type answer struct {
	Path  string          `json:"path"`
	ETag  string          `json:"etag,omitempty"`
	JSON  json.RawMessage `json:"json"`
	Proto string          `json:"proto"`
}

func main() {
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	must(metav1.AddMetaToScheme(scheme))
	must(metav1beta1.AddMetaToScheme(scheme))
	must(apidiscovery.AddToScheme(scheme))

	sections := []struct {
		name  string
		cases []any
	}{
		{"objects", objects()},
		{"frames", frames()},
		{"discovery", discoveries()},
		{"storageVersionHashes", hashes()},
		{"tables", tables()},
		{"durations", durations()},
		{"times", times()},
	}
	out := &bytes.Buffer{}
	for i, section := range sections {
		fmt.Fprintf(out, "%s%q: [\n", []string{"{\n", ",\n"}[min(i, 1)], section.name)
		for i, c := range section.cases {
			fmt.Fprintf(out, "%s%s", []string{"", ",\n"}[min(i, 1)], encodeJSON(c))
		}
		fmt.Fprint(out, "\n]")
	}
	fmt.Fprint(out, "\n}\n")
	_, err := os.Stdout.Write(out.Bytes())
	must(err)
}

// === objects ===

func objects() (cases []any) {
	add := func(o runtime.Object) {
		cases = append(cases, object{JSON: encodeJSON(o), Proto: base64.StdEncoding.EncodeToString(encode(pb, o))})
	}
	add(partial("v1", metav1.ObjectMeta{}))
	for range 110 {
		add(partial("v1", objectMeta()))
	}
	for i := range 20 {
		list := &metav1.PartialObjectMetadataList{ListMeta: listMeta(), Items: []metav1.PartialObjectMetadata{}}
		list.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList"))
		for range i % 4 {
			list.Items = append(list.Items, *partial("v1", objectMeta()))
		}
		add(list)
	}
	for i := range 4 {
		list := &metav1beta1.PartialObjectMetadataList{ListMeta: listMeta(), Items: []metav1.PartialObjectMetadata{}}
		list.SetGroupVersionKind(metav1beta1.SchemeGroupVersion.WithKind("PartialObjectMetadataList"))
		for range i {
			list.Items = append(list.Items, *partial("v1beta1", objectMeta()))
		}
		add(list)
	}
	for _, status := range statuses() {
		add(status)
	}
	add(deleteOptions("v1", metav1.DeleteOptions{}))
	for _, apiVersion := range []string{"v1", "meta.k8s.io/v1", "example.dev/v1beta2"} {
		for range 15 {
			add(deleteOptions(apiVersion, randomDeleteOptions()))
		}
	}
	return cases
}

func partial(version string, m metav1.ObjectMeta) *metav1.PartialObjectMetadata {
	p := &metav1.PartialObjectMetadata{ObjectMeta: m}
	p.SetGroupVersionKind(schema.GroupVersionKind{Group: "meta.k8s.io", Version: version, Kind: "PartialObjectMetadata"})
	return p
}

func objectMeta() metav1.ObjectMeta {
	m := metav1.ObjectMeta{
		Name:            maybe(text),
		GenerateName:    maybe(text),
		Namespace:       maybe(text),
		SelfLink:        maybe(text),
		UID:             types.UID(maybe(text)),
		ResourceVersion: maybe(text),
		Generation:      integer(),
		Labels:          texts(),
		Annotations:     texts(),
		Finalizers:      list(3, text),
	}
	if coin() {
		m.CreationTimestamp = instant()
	}
	if coin() {
		t := instant()
		m.DeletionTimestamp = &t
		m.DeletionGracePeriodSeconds = pointer(integer())
	}
	for range random.Intn(3) {
		o := metav1.OwnerReference{APIVersion: maybe(text), Kind: maybe(text), Name: maybe(text), UID: types.UID(text())}
		if coin() {
			o.Controller = pointer(coin())
		}
		if coin() {
			o.BlockOwnerDeletion = pointer(coin())
		}
		m.OwnerReferences = append(m.OwnerReferences, o)
	}
	for range random.Intn(3) {
		e := metav1.ManagedFieldsEntry{
			Manager:     maybe(text),
			Operation:   []metav1.ManagedFieldsOperationType{"Apply", "Update"}[random.Intn(2)],
			APIVersion:  maybe(text),
			Subresource: maybe(text),
		}
		if coin() {
			t := instant()
			e.Time = &t
		}
		if coin() {
			e.FieldsType = "FieldsV1"
			fields := []string{`{}`, `{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`, `{"f:spec":{"k:{\"name\":\"é\"}":{".":{},"f:x":{}}}}`}
			e.FieldsV1 = &metav1.FieldsV1{Raw: []byte(fields[random.Intn(len(fields))])}
		}
		m.ManagedFields = append(m.ManagedFields, e)
	}
	return m
}

func listMeta() metav1.ListMeta {
	m := metav1.ListMeta{ResourceVersion: maybe(text), Continue: maybe(text)}
	if coin() {
		m.RemainingItemCount = pointer(integer())
	}
	return m
}

func statuses() (all []*metav1.Status) {
	add := func(err *apierrors.StatusError) {
		status := err.Status()
		status.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Status"})
		all = append(all, &status)
	}
	for _, resource := range []schema.GroupResource{{Resource: "configmaps"}, {Group: "example.dev", Resource: "widgets"}} {
		for _, name := range []string{"", text(), text()} {
			add(apierrors.NewNotFound(resource, name))
			add(apierrors.NewAlreadyExists(resource, name))
			add(apierrors.NewGenerateNameConflict(resource, name, 1))
			add(apierrors.NewForbidden(resource, name, fmt.Errorf("%s", text())))
			add(apierrors.NewConflict(resource, name, fmt.Errorf("%s", text())))
		}
		add(apierrors.NewMethodNotSupported(resource, "watch"))
		add(apierrors.NewServerTimeout(resource, "list", 2))
	}
	kind := schema.GroupKind{Group: "example.dev", Kind: "Widget"}
	add(apierrors.NewInvalid(kind, "a", nil))
	add(apierrors.NewInvalid(kind, "a", field.ErrorList{
		field.Required(field.NewPath("spec", "size"), ""),
		field.Invalid(field.NewPath("spec").Key("k"), 3, "too small"),
		field.NotSupported(field.NewPath("spec").Index(1), "x", []string{"a", "b"}),
	}))
	add(apierrors.NewBadRequest("no"))
	add(apierrors.NewUnauthorized("Unauthorized"))
	add(apierrors.NewInternalError(fmt.Errorf("boom")))
	add(apierrors.NewTimeoutError("slow", 7))
	add(apierrors.NewTooManyRequests("later", 9))
	add(apierrors.NewServiceUnavailable("soon"))
	add(apierrors.NewRequestEntityTooLargeError("limit is 3"))
	expired := apierrors.NewResourceExpired("The provided continue parameter is too old")
	expired.ErrStatus.Continue = "next"
	add(expired)
	success := &metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{Name: "a", Kind: "configmaps", UID: "u"}}
	success.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Status"})
	return append(all, success)
}

func deleteOptions(apiVersion string, o metav1.DeleteOptions) *metav1.DeleteOptions {
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, "DeleteOptions"))
	return &o
}

func randomDeleteOptions() (o metav1.DeleteOptions) {
	if coin() {
		o.GracePeriodSeconds = pointer(integer())
	}
	if coin() {
		o.Preconditions = &metav1.Preconditions{}
		if coin() {
			o.Preconditions.UID = pointer(types.UID(maybe(text)))
		}
		if coin() {
			o.Preconditions.ResourceVersion = pointer(maybe(text))
		}
	}
	if coin() {
		o.OrphanDependents = pointer(coin())
	}
	if coin() {
		all := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}
		o.PropagationPolicy = &all[random.Intn(3)]
	}
	o.DryRun = list(2, func() string { return "All" })
	if coin() {
		o.IgnoreStoreReadErrorWithClusterBreakingPotential = pointer(coin())
	}
	return o
}

// === watch frames ===

func frames() (cases []any) {
	add := func(eventType string, o runtime.Object) {
		frames := &bytes.Buffer{}
		w := protobuf.LengthDelimitedFramer.NewFrameWriter(frames)
		event := &metav1.WatchEvent{Type: eventType, Object: runtime.RawExtension{Raw: encode(pb, o)}}
		_, err := w.Write(encode(pbRaw, event))
		must(err)
		event.Object.Raw = encodeJSON(o)
		js := jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, scheme, scheme, jsonserializer.SerializerOptions{})
		cases = append(cases, frame{
			Type:   eventType,
			Object: encodeJSON(o),
			Proto:  base64.StdEncoding.EncodeToString(frames.Bytes()),
			JSON:   string(encode(js, event)),
		})
	}
	for range 4 {
		for _, eventType := range []string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK"} {
			add(eventType, partial("v1", objectMeta()))
		}
	}
	gone := apierrors.NewResourceExpired("too old resource version: 1 (2)").Status()
	gone.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Status"})
	add("ERROR", &gone)
	large := partial("v1", metav1.ObjectMeta{Name: strings.Repeat("a", 253), Namespace: strings.Repeat("b", 63)})
	add("ADDED", large)
	return cases
}

// === discovery ===

func discoveries() (cases []any) {
	addresses := discovery.DefaultAddresses{DefaultAddress: "127.0.0.1:6443"}
	get := func(path string, handler http.Handler) {
		body, _ := fetch(handler, path, "application/json")
		proto, _ := fetch(handler, path, "application/vnd.kubernetes.protobuf")
		cases = append(cases, answer{Path: path, JSON: bytes.TrimSpace(body), Proto: base64.StdEncoding.EncodeToString(proto)})
	}
	get("/api", discovery.NewLegacyRootAPIHandler(addresses, codecs, "/api"))

	version := func(gv string) metav1.GroupVersionForDiscovery {
		parsed, err := schema.ParseGroupVersion(gv)
		must(err)
		return metav1.GroupVersionForDiscovery{GroupVersion: gv, Version: parsed.Version}
	}
	example := metav1.APIGroup{
		Name:             "example.dev",
		Versions:         []metav1.GroupVersionForDiscovery{version("example.dev/v1"), version("example.dev/v1beta1")},
		PreferredVersion: version("example.dev/v1"),
	}
	other := metav1.APIGroup{
		Name:             "other.example.dev",
		Versions:         []metav1.GroupVersionForDiscovery{version("other.example.dev/v1")},
		PreferredVersion: version("other.example.dev/v1"),
	}
	root := discovery.NewRootAPIsHandler(addresses, codecs)
	get("/apis", root)
	root.AddGroup(example)
	root.AddGroup(other)
	get("/apis", root)
	get("/apis/example.dev", discovery.NewAPIGroupHandler(codecs, example))

	resources := []metav1.APIResource{
		{
			Name: "widgets", SingularName: "widget", Namespaced: true, Kind: "Widget",
			Verbs:      metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
			ShortNames: []string{"wg"}, Categories: []string{"all", "example"},
			StorageVersionHash: discovery.StorageVersionHash("example.dev", "v1", "Widget"),
		},
		{Name: "widgets/status", Namespaced: true, Kind: "Widget", Verbs: metav1.Verbs{"get", "patch", "update"}},
		{Name: "widgets/scale", Namespaced: true, Group: "autoscaling", Version: "v1", Kind: "Scale", Verbs: metav1.Verbs{"get"}},
		{Name: "gadgets", SingularName: "gadget", Kind: "Gadget", Verbs: metav1.Verbs{}},
	}
	lister := discovery.APIResourceListerFunc(func() []metav1.APIResource { return resources })
	none := discovery.APIResourceListerFunc(func() []metav1.APIResource { return []metav1.APIResource{} })
	get("/apis/example.dev/v1", discovery.NewAPIVersionHandler(codecs, schema.GroupVersion{Group: "example.dev", Version: "v1"}, lister))
	get("/api/v1", discovery.NewAPIVersionHandler(codecs, schema.GroupVersion{Version: "v1"}, none))

	aggregate := func(path string, manager aggregated.ResourceManager) {
		params := ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
		body, etag := fetch(manager, path, "application/json"+params)
		proto, _ := fetch(manager, path, "application/vnd.kubernetes.protobuf"+params)
		cases = append(cases, answer{
			Path: path, ETag: etag, JSON: bytes.TrimSpace(body), Proto: base64.StdEncoding.EncodeToString(proto),
		})
	}
	manager := aggregated.NewResourceManager("apis")
	aggregate("/apis", manager)
	widget := metav1.GroupVersionKind{Group: "example.dev", Version: "v1", Kind: "Widget"}
	v1 := []apidiscovery.APIResourceDiscovery{
		{
			Resource: "widgets", ResponseKind: &widget, Scope: apidiscovery.ScopeNamespace, SingularResource: "widget",
			Verbs: resources[0].Verbs, ShortNames: []string{"wg"}, Categories: []string{"all", "example"},
			Subresources: []apidiscovery.APISubresourceDiscovery{
				{Subresource: "status", ResponseKind: &widget, Verbs: []string{"get", "patch"}},
				{
					Subresource: "bind", Verbs: []string{"create"},
					AcceptedTypes: []metav1.GroupVersionKind{widget, {Version: "v1", Kind: "Other"}},
				},
			},
		},
		{
			Resource: "gadgets", ResponseKind: &metav1.GroupVersionKind{Version: "v1", Kind: "Gadget"},
			Scope: apidiscovery.ScopeCluster, Verbs: []string{},
		},
	}
	manager.AddGroupVersion("example.dev", apidiscovery.APIVersionDiscovery{Version: "v1", Resources: v1, Freshness: apidiscovery.DiscoveryFreshnessCurrent})
	manager.AddGroupVersion("example.dev", apidiscovery.APIVersionDiscovery{Version: "v1beta1", Freshness: apidiscovery.DiscoveryFreshnessStale})
	manager.AddGroupVersion("other.example.dev", apidiscovery.APIVersionDiscovery{Version: "v1", Resources: v1[1:], Freshness: apidiscovery.DiscoveryFreshnessCurrent})
	aggregate("/apis", manager)
	core := aggregated.NewResourceManager("api")
	core.AddGroupVersion("", apidiscovery.APIVersionDiscovery{Version: "v1", Resources: v1, Freshness: apidiscovery.DiscoveryFreshnessCurrent})
	aggregate("/api", core)
	return cases
}

func fetch(handler http.Handler, path, accept string) ([]byte, string) {
	req := httptest.NewRequest("GET", path, nil)
	req.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	body, err := io.ReadAll(w.Body)
	must(err)
	if w.Code != http.StatusOK {
		log.Fatalf("%s %s: %d %s", path, accept, w.Code, body)
	}
	return body, w.Header().Get("ETag")
}

func hashes() (cases []any) {
	for _, gvk := range [][3]string{{"", "v1", "ConfigMap"}, {"apps", "v1", "Deployment"}, {"example.dev", "v1beta1", "Widget"}, {"", "", ""}} {
		cases = append(cases, []string{gvk[0], gvk[1], gvk[2], discovery.StorageVersionHash(gvk[0], gvk[1], gvk[2])})
	}
	return cases
}

// === tables ===

func tables() (cases []any) {
	convertor := rest.NewDefaultTableConvertor(schema.GroupResource{Resource: "widgets"})
	add := func(o runtime.Object, options *metav1.TableOptions) {
		t, err := convertor.ConvertToTable(context.Background(), o, options)
		must(err)
		t.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("Table"))
		cases = append(cases, table{Object: encodeJSON(o), Table: encodeJSON(t)})
	}
	for range 5 {
		add(partial("v1", objectMeta()), &metav1.TableOptions{})
		add(partial("v1", objectMeta()), &metav1.TableOptions{NoHeaders: true})
		l := &metav1.PartialObjectMetadataList{ListMeta: listMeta()}
		l.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList"))
		for range 1 + random.Intn(2) {
			l.Items = append(l.Items, *partial("v1", objectMeta()))
		}
		add(l, &metav1.TableOptions{})
	}
	return cases
}

func durations() (cases []any) {
	add := func(d time.Duration) { cases = append(cases, []any{int64(d), duration.HumanDuration(d)}) }
	edges := []time.Duration{
		0, time.Second, 2 * time.Second, 60 * time.Second, 2 * time.Minute, 3 * time.Minute, 10 * time.Minute, time.Hour, 3 * time.Hour,
		4 * time.Hour, 8 * time.Hour, 24 * time.Hour, 48 * time.Hour, 72 * time.Hour, 8 * 24 * time.Hour, 365 * 24 * time.Hour,
		2 * 365 * 24 * time.Hour, 3 * 365 * 24 * time.Hour, 8 * 365 * 24 * time.Hour, 9 * 365 * 24 * time.Hour,
	}
	for _, edge := range edges {
		for _, delta := range []time.Duration{0, 1, -1, time.Second, -time.Second, time.Minute, -time.Minute, time.Hour, 25 * time.Hour} {
			add(edge + delta)
		}
		add(-edge)
	}
	add(math.MaxInt64)
	add(math.MinInt64)
	for range 150 {
		add(time.Duration(math.Exp(random.Float64() * math.Log(math.MaxInt64))))
	}
	return cases
}

func times() (cases []any) {
	add := func(text string) {
		var t metav1.Time
		if err := json.Unmarshal(encodeJSON(text), &t); err != nil {
			cases = append(cases, []any{text, nil})
			return
		}
		cases = append(cases, []any{text, t.Unix(), json.RawMessage(encodeJSON(t))})
	}
	for _, text := range []string{
		"1970-01-01T00:00:00Z", "2024-02-29T23:59:59Z", "2023-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2000-02-29T12:00:00Z",
		"0001-01-01T00:00:00Z", "0001-01-01T00:00:01Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "10000-01-01T00:00:00Z",
		"2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00,5Z", "2024-01-01T00:00:00.123456789+05:30", "2024-01-01T00:00:00.Z",
		"2024-01-01T00:00:00-08:00", "2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00+23:59", "2024-01-01T00:00:00+01:60",
		"2024-01-01T00:00:60Z", "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z", "2024-13-01T00:00:00Z", "2024-00-01T00:00:00Z",
		"2024-01-00T00:00:00Z", "2024-04-31T00:00:00Z", "2024-01-01t00:00:00z", "2024-01-01T00:00:00", "2024-01-01", "", "now",
		"2024-01-01T1:00:00Z", "2024-1-01T01:00:00Z", "2024-01-01 01:00:00Z", "2024-01-01T01:00:00Z ", "+024-01-01T01:00:00Z",
		"2024-01-01T01:00:00+0100", "1969-12-31T23:59:59Z", "2024-01-01T01:00:00é", "-2024-01-01T01:00:00Z",
		"2024-01-01T00:00:00.1234567890123Z", "0000-12-31T23:00:00-02:00", "9999-12-31T23:59:59-01:00",
	} {
		add(text)
	}
	for range 60 {
		t := instant()
		add(t.UTC().Format(time.RFC3339))
	}
	return cases
}

// === made-up values ===

func coin() bool { return random.Intn(2) == 0 }

func pointer[T any](value T) *T { return &value }

func text() string {
	words := []string{"a", "widget", "example.dev/part-of", "ü", "日本", "k8s", "x_1", "0", "a b", "line\n", "\"q\"", strings.Repeat("long-", 30)}
	return words[random.Intn(len(words))] + words[random.Intn(len(words)-1)]
}

func maybe(value func() string) string {
	if coin() {
		return ""
	}
	return value()
}

func integer() int64 {
	numbers := []int64{0, 1, -1, 30, 127, 128, 1 << 20, math.MaxInt64, math.MinInt64}
	return numbers[random.Intn(len(numbers))]
}

func texts() map[string]string {
	if coin() {
		return nil
	}
	all := map[string]string{}
	for range random.Intn(4) {
		all[maybe(text)] = maybe(text)
	}
	return all
}

func list(most int, value func() string) (all []string) {
	for range random.Intn(most + 1) {
		all = append(all, value())
	}
	return all
}

func instant() metav1.Time {
	seconds := []int64{0, 1, -1, 1700000000, 253402300799, -62135596799, 951782400}
	if coin() {
		return metav1.Unix(seconds[random.Intn(len(seconds))], 0)
	}
	return metav1.Unix(random.Int63n(4_000_000_000), int64(random.Intn(1_000_000_000)))
}

// === encoding ===

func encode(encoder runtime.Encoder, o runtime.Object) []byte {
	out := &bytes.Buffer{}
	must(encoder.Encode(o, out))
	return out.Bytes()
}

func encodeJSON(value any) []byte {
	out, err := json.Marshal(value)
	must(err)
	return out
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
