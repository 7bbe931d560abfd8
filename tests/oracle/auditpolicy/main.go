// Command auditpolicy records which audit policies Kubernetes refuses, and what it writes down of which requests.
//
// "requests" are [user, groups, method, target]; a request without a user has null. Each policy has "text", and either
// "error" or "verdicts": for each request two hexadecimal digits: level + 4 * omitManagedFields, and the set of omitted
// stages.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"
)

const (
	seed     = 20261116
	policies = 700
	requests = 200
)

var (
	users      = []string{"alice", "bob", "system:admin", "", "system:serviceaccount:a:b"}
	groups     = []string{"system:masters", "system:authenticated", "dev", "ops", ""}
	verbs      = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "post", "head", "", "*"}
	apiGroups  = []string{"", "apps", "*", "org.bailiwick.dev", "batch"}
	resources  = []string{"pods", "pods/log", "pods/*", "*/log", "*", "*/*", "secrets", "po", "pods/", "deployments/scale", "*/scale", "namespaces", "namespaces/status", "/log", ""}
	names      = []string{"a", "b", "web", ""}
	namespaces = []string{"default", "kube-system", "", "a"}
	urls       = []string{"/healthz", "/healthz*", "*", "/api*", "/apis/*", "/", "/*", "/version", "/livez/", "/metrics*"}
	badURLs    = []string{"healthz", "", "**", "/a*b", "*x", "/*/", "a*", "/metrics**"}
	stages     = []string{"RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"}
	levels     = []string{"None", "Metadata", "Request", "RequestResponse"}
	targets    = []string{
		"/", "/healthz", "/healthz/ping", "/livez/", "/version", "/metrics", "/metricsx", "/api", "/apis/apps", "/apis/apps/v1", "/nowhere",
		"/api/v1/pods", "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/pods/a", "/api/v1/namespaces/a/pods/web/log",
		"/api/v1/namespaces/kube-system/secrets/b", "/api/v1/namespaces/default", "/api/v1/namespaces/a/status", "/apis/apps/v1/namespaces/default/deployments/web/scale",
		"/apis/org.bailiwick.dev/v1alpha1/organizations/a", "/apis/org.bailiwick.dev/v1alpha1/organizations/a/groups", "/api/v1/pods?watch=true",
		"/api/v1/namespaces/default/pods?fieldSelector=metadata.name=a", "/api/v1/watch/namespaces/default/pods", "/apis/batch/v1/jobs", "/api/v1/namespaces/default/po/a",
	}
	methods = []string{"GET", "GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}
)

type source struct{ *rand.Rand }

func (s source) pick(from []string) string { return from[s.Intn(len(from))] }

func (s source) some(from []string, most int) []string {
	picked := []string{}
	for range s.Intn(most + 1) {
		picked = append(picked, s.pick(from))
	}
	return picked
}

// maybe sets a field in one of so many cases.
func (s source) maybe(object map[string]any, field string, one int, value func() any) {
	if s.Intn(one) == 0 {
		object[field] = value()
	}
}

func (s source) rule() map[string]any {
	rule := map[string]any{"level": s.pick(levels)}
	s.maybe(rule, "users", 3, func() any { return s.some(users, 2) })
	s.maybe(rule, "userGroups", 3, func() any { return s.some(groups, 2) })
	s.maybe(rule, "verbs", 3, func() any { return s.some(verbs, 4) })
	if s.Intn(3) > 0 {
		s.maybe(rule, "resources", 2, func() any {
			list := []any{}
			for range 1 + s.Intn(2) {
				group := map[string]any{"group": s.pick(apiGroups)}
				s.maybe(group, "resources", 2, func() any { return s.some(resources, 3) })
				if list, ok := group["resources"].([]string); ok && len(list) > 0 {
					s.maybe(group, "resourceNames", 3, func() any { return s.some(names, 2) })
				}
				list = append(list, group)
			}
			return list
		})
		s.maybe(rule, "namespaces", 4, func() any { return s.some(namespaces, 2) })
	} else {
		s.maybe(rule, "nonResourceURLs", 2, func() any { return s.some(urls, 3) })
	}
	s.maybe(rule, "omitStages", 4, func() any { return s.some(stages, 3) })
	s.maybe(rule, "omitManagedFields", 4, func() any { return s.Intn(2) == 0 })
	return rule
}

// spoil makes a mistake, of those that validation finds.
func (s source) spoil(p map[string]any) {
	rule := p["rules"].([]any)[0].(map[string]any)
	switch s.Intn(8) {
	case 0:
		rule["level"] = s.pick([]string{"", "metadata", "All", "None ", "\"x\""})
	case 1:
		rule["nonResourceURLs"] = s.some(badURLs, 3)
	case 2:
		rule["nonResourceURLs"], rule["namespaces"] = []string{"/a", "b*c"}, []string{"x"}
	case 3:
		rule["resources"] = []any{map[string]any{"group": s.pick([]string{"Apps", "apps/v1", "a_b", "-", strings.Repeat("a", 254)})}, map[string]any{"resourceNames": s.some(names, 2)}}
	case 4:
		rule["omitStages"] = s.some([]string{"Panic", "panic", "", "RequestReceived ", "All"}, 3)
	case 5:
		p["omitStages"] = s.some([]string{"Panic", "panic", ""}, 3)
	case 6:
		delete(rule, "level")
	case 7:
		p["rules"] = []any{}
	}
}

func (s source) policy() string {
	p := map[string]any{"apiVersion": "audit.k8s.io/v1", "kind": "Policy"}
	rules := []any{}
	for range 1 + s.Intn(4) {
		rules = append(rules, s.rule())
	}
	p["rules"] = rules
	s.maybe(p, "omitStages", 4, func() any { return s.some(stages, 2) })
	s.maybe(p, "omitManagedFields", 4, func() any { return s.Intn(2) == 0 })
	if s.Intn(6) == 0 {
		s.spoil(p)
	}
	text, err := json.Marshal(p)
	check(err)
	return string(text)
}

var factory = request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

func (s source) request() ([]any, authorizer.Attributes) {
	method, target := s.pick(methods), s.pick(targets)
	req, err := http.NewRequest(method, "https://server"+target, nil)
	check(err)
	info, err := factory.NewRequestInfo(req)
	check(err)
	attributes := authorizer.AttributesRecord{
		Verb: info.Verb, Namespace: info.Namespace, APIGroup: info.APIGroup, APIVersion: info.APIVersion, Resource: info.Resource,
		Subresource: info.Subresource, Name: info.Name, ResourceRequest: info.IsResourceRequest, Path: info.Path,
	}
	row := []any{nil, nil, method, target}
	if s.Intn(12) > 0 {
		name, in := s.pick(users), s.some(groups, 3)
		attributes.User = &user.DefaultInfo{Name: name, Groups: in}
		row[0], row[1] = name, in
	}
	return row, attributes
}

func verdicts(p *audit.Policy, asked []authorizer.Attributes) string {
	evaluator := policy.NewPolicyRuleEvaluator(p)
	var text strings.Builder
	for _, attributes := range asked {
		config := evaluator.EvaluatePolicyRule(attributes)
		level, omitted := 0, 0
		for i, name := range levels {
			if string(config.Level) == name {
				level = i
			}
		}
		if config.OmitManagedFields {
			level += 4
		}
		for i, name := range stages {
			for _, stage := range config.OmitStages {
				if string(stage) == name {
					omitted |= 1 << i
				}
			}
		}
		fmt.Fprintf(&text, "%x%x", level, omitted)
	}
	return text.String()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	s := source{rand.New(rand.NewSource(seed))}
	rows, asked := []any{}, []authorizer.Attributes{}
	for range requests {
		row, attributes := s.request()
		rows, asked = append(rows, row), append(asked, attributes)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	fmt.Print("{\"requests\": ")
	check(out.Encode(rows))
	fmt.Print(", \"policies\": [\n")
	for i := range policies {
		text := s.policy()
		record := map[string]any{"text": text}
		if p, err := policy.LoadPolicyFromBytes([]byte(text)); err != nil {
			record["error"] = err.Error()
		} else {
			record["verdicts"] = verdicts(p, asked)
		}
		if i > 0 {
			fmt.Print(",")
		}
		check(out.Encode(record))
	}
	fmt.Println("]}")
}
