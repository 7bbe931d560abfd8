// Command negotiate records which encoding and which form kube-apiserver's negotiation package chooses.
package main

import (
	"fmt"
	"math/rand"
	"net/http"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"bailiwick.dev/oracle/internal/record"
)

// resource allows what a resource with tables allows; see RequestScope in k8s.io/apiserver/pkg/endpoints/handlers.
type resource struct{}

func (resource) AllowsMediaTypeTransform(kind, sub string, gvk *schema.GroupVersionKind) bool {
	if gvk == nil {
		return true
	}
	if gv := gvk.GroupVersion(); gv != metav1.SchemeGroupVersion && gv != metav1beta1.SchemeGroupVersion {
		return false
	}
	switch gvk.Kind {
	case "Table":
		return kind == "application" && (sub == "json" || sub == "yaml")
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return true
	}
	return false
}
func (resource) AllowsServerVersion(v string) bool { return v == "v1" }
func (resource) AllowsStreamSchema(s string) bool  { return s == "watch" }

var endpoints = map[string]negotiation.EndpointRestrictions{
	"plain":     negotiation.DefaultEndpointRestrictions,
	"resource":  resource{},
	"discovery": aggregated.DiscoveryEndpointRestrictions,
}

// texts are those of the errors, which are few.
var texts = map[string]bool{}

func accept(ns runtime.NegotiatedSerializer, endpoint, header string) any {
	req := &http.Request{Header: http.Header{}}
	if header != "" {
		req.Header.Set("Accept", header)
	}
	describe := func() string {
		options, _, err := negotiation.NegotiateOutputMediaType(req, ns, endpoints[endpoint])
		if err != nil {
			texts[err.Error()] = true
			return "406"
		}
		convert := "none"
		if c := options.Convert; c != nil {
			convert = c.Group + "/" + c.Version + "/" + c.Kind
		}
		return fmt.Sprintf("%s %s %v %s %s", options.Accepted.MediaType, convert, options.Pretty, options.Stream, options.Profile)
	}
	stream := "ok"
	if info, err := negotiation.NegotiateOutputMediaTypeStream(req, ns, endpoints[endpoint]); err != nil {
		texts[err.Error()] = true
		stream = "406"
	} else {
		stream = info.MediaType
	}
	return []any{endpoint, header, describe(), stream}
}

func contentType(ns runtime.NegotiatedSerializer, header string) any {
	info, err := negotiation.NegotiateInputSerializerForMediaType(header, false, ns)
	if err != nil {
		texts[err.Error()] = true
		return []any{header, "415"}
	}
	return []any{header, info.MediaType}
}

var types = []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "*/*", "*", "application/*", "text/*", "*/json", "text/html", "application/JSON", "application", "application/", "/json", "a/b/c", "", " ", "application/xml", "application / json", "application/json "}
var params = []string{"as=Table", "g=meta.k8s.io", "v=v1", "v=v1beta1", "v=v2", "as=PartialObjectMetadata", "as=PartialObjectMetadataList", "as=Status", "as=APIGroupDiscoveryList", "g=apidiscovery.k8s.io", "v=v2beta1", "stream=watch", "stream=", "stream=other", "pretty=1", "pretty=true", "pretty=0", "q=0.5", "q=0", "q=1", "q=0.9", "q=x", "q= 0.3", "q=", "Q=0.1", "charset=utf-8", "sv=v1", "sv=v2", "sv=", "profile=nopeer", "profile=local", "export=1", "a=b=c", "=x", "x", " as = Table ", "q=.5", "q=1e1", "q=-1", "as=Table;g=meta.k8s.io;v=v1", "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io", "as=APIGroupDiscoveryList;v=v2beta1;g=apidiscovery.k8s.io"}

var headers = []string{
	"", "application/json", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", "application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1", "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1,application/json;as=Table;g=meta.k8s.io;v=v1,application/json", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json", "application/json, */*", "*/*;q=0.1, application/yaml", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/yaml;q=0.9,application/json;q=0.8", "application/json;stream=watch", "application/yaml;stream=watch", "*/*;stream=watch", "*/*;as=Table;g=meta.k8s.io;v=v1", "application/cbor,application/json", "application/cbor", ",", ",,application/json", ";", ";q=1", "application/json;", "application/json;;pretty=1", "*;pretty=1",
}

var contentTypes = []string{"", "application/json", "application/json; charset=utf-8", "application/json;charset=utf-8", "APPLICATION/JSON", " application/json ", "application/yaml", "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf;x=y", "text/plain", "application", "application/", "/json", "application/json;", "application/json; ", "application/json;;", "application/json;x", "application/json;x=", "application/json; x=y; x=y", "application/json; x=y; x=z", "application/json; x=\"y z\"", "application/json; x=\"y", "application/json; x=\"y\\\"z\"", "application/json; x=\"y\\z\"", "application/json; =y", "application/json x", "application/json/x", "application / json", "application/json,application/yaml", "*/*", "application/cbor", "application/apply-patch+yaml", "application/merge-patch+json", "application/json; x = y", "application/json;\tx=y", "application/json\t", "application/json; X=y; x=z", "application/json; x*=utf-8''y", "application/json; x=\"\"", "application/json; é=y", "application/json; x=é", "application/json; x=\"é\"", "é", ";", "; x=y", "application/json; x=y z=w"}

func main() {
	ns := serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	r := rand.New(rand.NewSource(1))
	sections := map[string][]any{}
	seen := map[string]bool{}
	add := func(endpoint, header string) {
		if !seen[endpoint+"\n"+header] {
			seen[endpoint+"\n"+header] = true
			sections["accept"] = append(sections["accept"], accept(ns, endpoint, header))
		}
	}
	names := []string{"plain", "resource", "discovery"}
	for _, endpoint := range names {
		for _, header := range headers {
			add(endpoint, header)
		}
		for _, t := range types {
			add(endpoint, t)
			for _, p := range params {
				if r.Intn(3) == 0 {
					add(endpoint, t+";"+p)
				}
			}
		}
	}
	for i := 0; i < 1400; i++ {
		var clauses []string
		for n := 1 + r.Intn(5); n > 0; n-- {
			clause := types[r.Intn(len(types))]
			for m := r.Intn(3); m > 0; m-- {
				clause += []string{";", "; "}[r.Intn(2)] + params[r.Intn(len(params))]
			}
			clauses = append(clauses, clause)
		}
		add(names[r.Intn(3)], strings.Join(clauses, []string{",", ", "}[r.Intn(2)]))
	}
	for _, header := range contentTypes {
		sections["contentType"] = append(sections["contentType"], contentType(ns, header))
	}
	for text := range texts {
		sections["errors"] = append(sections["errors"], text)
	}
	sort.Slice(sections["errors"], func(i, j int) bool {
		return sections["errors"][i].(string) < sections["errors"][j].(string)
	})
	record.Write(sections)
}
