// Command requestinfo records how Kubernetes reads the method and the target of a request.
//
// Each row is [method, target, error] or [method, target, isResource, verb, prefix, group, version, namespace, resource,
// subresource, name, parts, fieldSelector, labelSelector, badLabelSelector, path]; empty columns at the end are left out, and
// path stands only where it differs from the target's. The first argument is the number of generated requests, the second
// that of the rows to keep.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"
)

const seed = 20260417

var factory = request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

// written are the cases that must be there whatever the generator does.
var written = []string{
	"/", "", "*", "//", "/api", "/apis", "/api/", "/apis/", "/api/v1", "/apis/apps", "/apis/apps/v1", "/healthz", "/livez/ping", "/version",
	"/openapi/v3/apis/apps/v1?hash=ABC", "/api/v1/pods", "/api/v1/pods?watch=true", "/api/v1/pods?watch=1", "/api/v1/pods?watch=0",
	"/api/v1/pods?watch=false", "/api/v1/pods?watch=False", "/api/v1/pods?watch=FALSE", "/api/v1/pods?watch=", "/api/v1/pods?watch",
	"/api/v1/pods?watch=garbage", "/api/v1/pods?watch=fal%C5%BFe", "/api/v1/pods?watch=fal%C5%BFe&limit=x", "/api/v1/pods?watch=false&watch=true",
	"/api/v1/pods?watch=true&limit=x", "/api/v1/pods?watch=FALSE&limit=x", "/api/v1/pods?watch&timeoutSeconds=", "/api/v1/pods?Watch=true",
	"/api/v1/pods?fieldSelector=metadata.name=x", "/api/v1/pods?fieldSelector=metadata.name%3Dx", "/api/v1/pods?fieldSelector=metadata.name%3D%3Dx",
	"/api/v1/pods?fieldSelector=metadata.name%21%3Dx", "/api/v1/pods?fieldSelector=metadata.name%3D", "/api/v1/pods?fieldSelector=metadata.name%3D..",
	"/api/v1/pods?fieldSelector=metadata.name%3Da%2Fb", "/api/v1/pods?fieldSelector=metadata.name%3Da%25b", "/api/v1/pods?fieldSelector=metadata.name%3Da%5C%2Cb",
	"/api/v1/pods?fieldSelector=metadata.name%3Db,metadata.name%3Da", "/api/v1/pods?fieldSelector=metadata.name%3D%3Da,metadata.name%3Db",
	"/api/v1/pods?fieldSelector=status.phase%3DRunning,metadata.name%3Da", "/api/v1/pods?fieldSelector=metadata.name", "/api/v1/pods?fieldSelector=,,metadata.name=a,",
	"/api/v1/pods?fieldSelector=metadata.name=a=b", "/api/v1/pods?fieldSelector=metadata.name=a%5C", "/api/v1/pods?fieldSelector=metadata.name=a%5Cx",
	"/api/v1/pods?fieldSelector=metadata.name=a&limit=z", "/api/v1/pods?fieldSelector=metadata.name=a&limit=1", "/api/v1/pods?fieldSelector=&fieldSelector=metadata.name=a",
	"/api/v1/pods?fieldSelector=metadata.name=a&labelSelector=a+b", "/api/v1/pods?fieldSelector=metadata.name=a&labelSelector=x%3Dy", "/api/v1/pods?fieldSelector=%20metadata.name=a",
	"/api/v1/namespaces", "/api/v1/namespaces/", "/api/v1/namespaces/a", "/api/v1/namespaces/a/status", "/api/v1/namespaces/a/finalize", "/api/v1/namespaces/a/pods",
	"/api/v1/namespaces/a/pods/b", "/api/v1/namespaces/a/pods/b/status", "/api/v1/namespaces/a/pods/b/proxy/c/d", "/api/v1/namespaces/a/finalize/b/c",
	"/api/v1/namespaces//pods", "/api/v1/namespaces/a//b", "/api/v1//pods", "/api//v1/pods", "//api/v1/pods", "/api/v1/pods/", "/api/v1/pods//", "/api/v1/pods//status",
	"/api/v1/watch", "/api/v1/watch/", "/api/v1/proxy", "/apis/apps/v1/watch", "/api/v1/watch/pods", "/api/v1/watch/namespaces/a/pods", "/api/v1/watch/namespaces/a/pods/b",
	"/api/v1/watch/namespaces/a", "/api/v1/watch/pods?fieldSelector=metadata.name=a&labelSelector=x=y", "/api/v1/proxy/nodes/n", "/api/v1/proxy/namespaces/a/pods/b/c/d",
	"/apis/apps/v1/watch/namespaces/a/deployments/d", "/api/v1/watch/watch/x", "/api/v1/proxy/watch/x", "/api/v1/namespaces/watch/pods",
	"/api/v1/namespaces/a/pods/b?watch=true", "/api/v1/namespaces/a/pods/..", "/api/v1/namespaces/../pods", "/api/v1/./pods", "/api/v1/namespaces/%2e%2e/pods", "/api/v1/pods/%2E",
	"/api/v1/pods/a%2fb", "/api/v1/pods/a%2Fb", "/api/v1%2Fpods", "/%61pi/v1/pods", "/api/v1/pods/%zz", "/api/v1/pods/%", "/api/v1/pods/%4", "/api/v1/pods/%252f", "/api/v1/pods/%00",
	"/api/v1/pods/a;b", "/api/v1/pods/a%3Bb", "/api/v1/pods/a%3Fb", "/api/v1/pods/a%23b", "/api/v1/pods/a#b", "/api/v1/pods/a+b", "/api/v1/pods/a%20b", "/api/v1/pods/%ff", "/api/v1/pods/é",
	"/api/v1/pods/%C3%A9", "/api/v1/pods/a%0Ab", "/api/v1/pods\\a", "/API/v1/pods", "/apis/Apps/V1/Deployments", "/api/v1/pods?a;b", "/api/v1/pods?fieldSelector=metadata.name=a;b",
	"/api/v1/pods?fieldSelector=%zz", "/api/v1/pods?fieldSelector=%ff", "/api/v1/pods?x=%", "/api/v1/pods?&&", "/api/v1/pods??watch=1", "/api/v1/pods?a?watch=1", "/api/v1/pods?=watch", "/api/v1/pods?wat%63h=1",
	"/api/v1/pods?labelSelector=a%3Db&fieldSelector=c%3Dd", "/api/v1/namespaces/a/pods?labelSelector=a&limit=q", "/api/v1/pods?" + strings.Repeat("a=b&", 5000),
}

var methods = []string{"GET", "GET", "GET", "GET", "POST", "PUT", "PATCH", "DELETE", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE", "get", "Delete", "FOO"}

var segments = []string{
	"pods", "pods", "deployments", "a", "b", "ns", "default", "kube-system", "namespaces", "namespaces", "status", "finalize", "watch", "proxy", "scale", "nodes", "v1", "v1beta1",
	"apps", "example.dev", "x.y.z", "api", "apis", "", "", ".", "..", "...", "%2e%2e", "%2E", "a%20b", "é", "日本", "%C3%A9", "a+b", "a;b", "a:b", "a@b", "a=b", "a,b", "%61", "na%6despaces",
	"w%61tch", "a%2Fb", "%2f", "%", "%g1", "%ff", "%00", "%25", "%252F", "*", "~", "'", "A", "Pods", "\\", "|", "\"", "<x>", "a&b", "a#b", "a%3Fb", "metadata.name",
}

var queries = []string{
	"watch=true", "watch=1", "watch=0", "watch=false", "watch=False", "watch=", "watch", "watch=garbage", "watch=t", "watch=+", "limit=5", "limit=x", "limit=", "limit=9223372036854775808", "limit=-1",
	"timeoutSeconds=5", "timeoutSeconds=5s", "resourceVersion=0", "resourceVersion=abc", "resourceVersionMatch=Exact", "continue=abc", "sendInitialEvents=true", "allowWatchBookmarks=1", "pretty", "unknown=%20",
	"fieldSelector=metadata.name%3Dx", "fieldSelector=metadata.name=y", "fieldSelector=metadata.name==z", "fieldSelector=metadata.name!=x", "fieldSelector=metadata.name%3D", "fieldSelector=metadata.name%3D.",
	"fieldSelector=metadata.namespace=a,metadata.name=b", "fieldSelector=spec.x=1", "fieldSelector=bad", "fieldSelector=a%3Db%5C,c,metadata.name%3Dq", "fieldSelector=", "fieldSelector=metadata.name%3Da%2Fb",
	"fieldSelector=metadata.name%3D%C3%A9", "fieldSelector=metadata.name%3Da+b", "labelSelector=a%3Db", "labelSelector=a+in+(b,c)", "labelSelector=", "labelSelector=a+b", "labelSelector=!", "labelSelector=a,!b",
	"labelSelector=%zz", "fieldSelector=metadata.name%3Da;b", "x;y", "%77atch=1", "w=%ff", "=", "==", "a=b=c", "dryRun=All", "shardSelector=x",
}

func target(random *rand.Rand) string {
	pick := func(from []string) string { return from[random.Intn(len(from))] }
	var path []string
	switch random.Intn(10) {
	case 0:
		path = append(path, pick(segments))
	case 1, 2, 3, 4:
		path = append(path, "api", pick([]string{"v1", "v1", "v1", "v2", ""}))
	default:
		path = append(path, "apis", pick([]string{"apps", "example.dev", "a", "%61", ""}), pick([]string{"v1", "v1", "v1alpha1", ""}))
	}
	if random.Intn(7) == 0 {
		path = append(path, pick([]string{"watch", "proxy"}))
	}
	if random.Intn(2) == 0 {
		path = append(path, "namespaces", pick(segments))
	}
	for count := random.Intn(5); count > 0; count-- {
		path = append(path, pick(segments))
	}
	text := "/" + strings.Join(path, "/")
	if random.Intn(12) == 0 {
		text += "/"
	}
	if random.Intn(6) == 0 {
		const pieces = "/%.2fF?&=#;+ :é\\"
		all := []rune(pieces)
		at := random.Intn(len(text)) + 1
		for at < len(text) && text[at]&0xC0 == 0x80 {
			at++
		}
		text = text[:at] + strings.ReplaceAll(string(all[random.Intn(len(all))]), " ", "%20") + text[at:]
	}
	if random.Intn(400) == 0 {
		text += "/" + strings.Repeat("x", random.Intn(40000))
	}
	var query []string
	for count := random.Intn(4); count > 0; count-- {
		query = append(query, pick(queries))
	}
	if len(query) > 0 {
		text += "?" + strings.Join(query, "&")
	}
	return text
}

func row(method, target string) []string {
	out := []string{method, target}
	parsed, err := url.ParseRequestURI(target)
	if err != nil {
		return append(out, "target")
	}
	info, err := factory.NewRequestInfo(&http.Request{Method: method, URL: parsed})
	if err != nil {
		return append(out, "info")
	}
	mark := func(is bool) string {
		if is {
			return "1"
		}
		return ""
	}
	path := ""
	if raw, _, _ := strings.Cut(target, "?"); raw != info.Path {
		path = info.Path
	}
	_, badLabels := labels.Parse(parsed.Query().Get("labelSelector"))
	out = append(out, mark(info.IsResourceRequest), info.Verb, info.APIPrefix, info.APIGroup, info.APIVersion, info.Namespace, info.Resource, info.Subresource, info.Name,
		strings.Join(info.Parts, "/"), info.FieldSelector, info.LabelSelector, mark(badLabels != nil), path)
	for len(out) > 4 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

func main() {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	_ = flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	klog.SetOutput(io.Discard)
	count, keep := 20000, 3200
	if len(os.Args) > 1 {
		count, _ = strconv.Atoi(os.Args[1])
		keep = count
	}
	if len(os.Args) > 2 {
		keep, _ = strconv.Atoi(os.Args[2])
	}
	random := rand.New(rand.NewSource(seed))
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	first := true
	emit := func(row []string) {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		fmt.Fprint(out, map[bool]string{true: "[", false: ","}[first])
		first = false
		_ = encoder.Encode(row)
	}
	for _, target := range written {
		for _, method := range []string{"GET", "DELETE", "POST"} {
			if method == "GET" || len(target) < 100 {
				emit(row(method, target))
			}
		}
	}
	for i := 0; i < count; i++ {
		row := row(methods[random.Intn(len(methods))], target(random))
		// Long ones would fill the file: a few written ones are kept instead.
		if random.Intn(count) < keep && (keep == count || len(row[1]) < 300) {
			emit(row)
		}
	}
	fmt.Fprintln(out, "]")
}
