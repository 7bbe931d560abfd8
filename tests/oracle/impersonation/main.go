// Records how Kubernetes' filter takes a request for someone else's: what it asks, whom the request becomes, what it refuses
// and how.
//
// A case says who asks, the headers, the request, and what is allowed: questions as "verb group resource subresource namespace
// name" or "verb path", where * stands for anything. The filter is made anew for each, so that none remembers another.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/apiserver/pkg/endpoints/request"

	"bailiwick.dev/oracle/record"
)

type who struct {
	Name   string              `json:"name"`
	UID    string              `json:"uid,omitempty"`
	Groups []string            `json:"groups,omitempty"`
	Extra  map[string][]string `json:"extra,omitempty"`
}

type test struct {
	User    who         `json:"user"`
	Headers [][2]string `json:"headers"`
	Method  string      `json:"method"`
	Path    string      `json:"path"`
	Allowed []string    `json:"allowed,omitempty"`
	// What the filter does.
	Asked      []string `json:"asked,omitempty"`
	Becomes    *who     `json:"becomes,omitempty"`
	Constraint string   `json:"constraint,omitempty"`
	Code       int      `json:"code,omitempty"`
	Message    string   `json:"message,omitempty"`
	// Headers that the next one sees, though they are about this.
	Left []string `json:"left,omitempty"`
}

var codecs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	return serializer.NewCodecFactory(scheme)
}()

var requests = [][2]string{
	{"GET", "/apis/apps/v1/namespaces/n/deployments/d"}, {"GET", "/api/v1/pods"}, {"PUT", "/api/v1/namespaces/n/pods/p/status"},
	{"GET", "/version"}, {"POST", "/apis/apps/v1/namespaces/n/deployments"}, {"DELETE", "/api/v1/namespaces/n/pods"},
}

var requestors = []who{
	{Name: "deputy", Groups: []string{"deputies", "system:authenticated"}},
	{Name: "system:serviceaccount:n:agent", Groups: []string{"system:serviceaccounts"},
		Extra: map[string][]string{"authentication.kubernetes.io/node-name": {"node-1"}, "authentication.kubernetes.io/pod-name": {"p"}}},
	{Name: "system:serviceaccount:n:agent", Extra: map[string][]string{"authentication.kubernetes.io/node-name": {"node-1", "node-2"}}},
	{Name: "agent", Extra: map[string][]string{"authentication.kubernetes.io/node-name": {"node-1"}}},
	{Name: "<b>&\"", Groups: []string{"g"}},
}

var users = []string{
	"alice", "alice", "bob", "system:anonymous", "system:serviceaccount:n:s", "system:serviceaccount:n:s", "system:serviceaccount:n:s:t", "system:serviceaccount:N:s",
	"system:serviceaccount::s", "system:serviceaccount:n:", "system:serviceaccount:n:S", "system:serviceaccounts:n:s", "system:node:node-1", "system:node:node-1", "system:node:node-2",
	"system:node:", "system:node:Node", "system:masters", "system:admin", "", "a b", "é", "*",
}

var groups = []string{"g", "h", "system:masters", "system:authenticated", "system:unauthenticated", "", "system:serviceaccounts", "system:nodes", "i", "j"}

var extras = []string{
	"Impersonate-Extra-Acme.com%2fProject", "impersonate-extra-acme.com%2Fscope", "Impersonate-Extra-Plain", "Impersonate-Extra-", "Impersonate-Extra-Acme.com%2f%41",
	"Impersonate-Extra-Acme.com%2f%zz", "Impersonate-Extra-Acme.com%2Fa%20b", "Impersonate-Extra-Acme_com%2Fa", "Impersonate-Extra-%2Fa",
}

var patterns = []string{
	"impersonate * users * * *", "impersonate * users * * *", "impersonate * users * * alice", "impersonate * groups * * *", "impersonate * groups * * g", "impersonate * uids * * *",
	"impersonate authentication.k8s.io userextras * * *", "impersonate authentication.k8s.io userextras acme.com/project * *", "impersonate * serviceaccounts * n *",
	"impersonate  serviceaccounts  n s", "impersonate * * * * *", "impersonate authentication.k8s.io users * * *",
	"impersonate:user-info authentication.k8s.io users * * *", "impersonate:user-info authentication.k8s.io groups * * g", "impersonate:user-info authentication.k8s.io groups * * *",
	"impersonate:user-info authentication.k8s.io uids * * *", "impersonate:user-info authentication.k8s.io userextras * * *", "impersonate:user-info * * * * *",
	"impersonate:user-info authentication.k8s.io userextras acme.com/project * v", "impersonate:serviceaccount authentication.k8s.io serviceaccounts * n s",
	"impersonate:serviceaccount * * * * *", "impersonate:arbitrary-node * nodes * * node-1", "impersonate:arbitrary-node * * * * *", "impersonate:associated-node * nodes * * *",
	"impersonate:associated-node * nodes * * node-1", "impersonate-on:user-info:get * * * * *", "impersonate-on:user-info:list * * * * *", "impersonate-on:user-info:update * pods status n *",
	"impersonate-on:user-info:get /version", "impersonate-on:user-info:* * * * * *", "impersonate-on:serviceaccount:get * * * * *", "impersonate-on:serviceaccount:create * * * * *",
	"impersonate-on:arbitrary-node:get * * * * *", "impersonate-on:arbitrary-node:list * pods * * *", "impersonate-on:associated-node:get * * * * *",
	"impersonate-on:associated-node:list * * * * *", "impersonate-on:user-info:create * * * * *", "impersonate-on:user-info:deletecollection * * * * *",
}

// Those of one way, so that it can be open.
var bundles = [][]string{
	{"impersonate * * * * *"},
	{"impersonate:user-info * * * * *", "impersonate-on:user-info:get * * * * *", "impersonate-on:user-info:list * * * * *", "impersonate-on:user-info:get /version"},
	{"impersonate:serviceaccount * * * * *", "impersonate-on:serviceaccount:get * * * * *", "impersonate-on:serviceaccount:list * * * * *"},
	{"impersonate:arbitrary-node * * * * *", "impersonate-on:arbitrary-node:get * * * * *", "impersonate-on:arbitrary-node:list * * * * *"},
	{"impersonate:associated-node * * * * *", "impersonate-on:associated-node:get * * * * *", "impersonate-on:associated-node:list * * * * *"},
}

// Who can act as whom by which of them.
var stories = []struct {
	requestor, bundle int
	user              string
}{{0, 0, "alice"}, {0, 1, "alice"}, {4, 1, "bob"}, {0, 2, "system:serviceaccount:n:s"}, {0, 3, "system:node:node-1"}, {1, 4, "system:node:node-1"}, {0, 1, "system:anonymous"}}

func main() {
	source := record.New(11)
	var tests []test
	for range 600 {
		tests = append(tests, generate(source))
	}
	for range 500 {
		t := generate(source)
		story := stories[source.Intn(len(stories))]
		t.User = requestors[story.requestor]
		var others [][2]string
		for _, header := range t.Headers {
			if !strings.EqualFold(header[0], "Impersonate-User") && (story.bundle < 2 || source.Intn(10) == 0) {
				others = append(others, header)
			}
		}
		t.Headers = append([][2]string{{"Impersonate-User", story.user}}, others...)
		t.Method, t.Path = "GET", source.Pick([]string{"/api/v1/pods", "/version", "/apis/apps/v1/namespaces/n/deployments/d"})
		t.Allowed = append([]string{}, bundles[story.bundle]...)
		if source.Intn(4) == 0 {
			missing := source.Intn(len(t.Allowed))
			t.Allowed = append(t.Allowed[:missing:missing], t.Allowed[missing+1:]...)
		}
		if source.Intn(4) == 0 {
			t.Allowed = append(t.Allowed, source.Pick(patterns))
		}
		tests = append(tests, t)
	}
	for i := range tests {
		tests[i].run()
	}
	record.Write(map[string]any{}, tests)
}

func generate(source record.Source) test {
	chosen := requests[source.Intn(len(requests))]
	t := test{User: requestors[source.Intn(len(requestors))], Method: chosen[0], Path: chosen[1], Headers: [][2]string{}}
	header := func(name, value string) { t.Headers = append(t.Headers, [2]string{name, value}) }
	if source.Intn(12) > 0 {
		header(source.Pick([]string{"Impersonate-User", "impersonate-user", "IMPERSONATE-USER"}), source.Pick(users))
	}
	if source.Intn(20) == 0 {
		header("Impersonate-User", source.Pick(users))
	}
	few := source.Intn(3)
	if source.Intn(10) == 0 {
		few = 4 + source.Intn(2)
	}
	if source.Intn(2) == 0 {
		for range few {
			header("Impersonate-Group", source.Pick(groups))
		}
	}
	if source.Intn(6) == 0 {
		header("Impersonate-Uid", source.Pick([]string{"1", "", "x y"}))
	}
	// Go walks maps in any order: of several keys none is refused before another.
	if source.Intn(5) == 0 {
		key := source.Pick(extras)
		for range 1 + source.Intn(5) {
			header(key, source.Pick([]string{"v", "w", "v", ""}))
		}
	}
	if source.Intn(25) == 0 {
		header("Impersonate-Other", "x")
	}
	if source.Intn(2) == 0 {
		t.Allowed = append(t.Allowed, bundles[source.Intn(len(bundles))]...)
		if source.Intn(3) == 0 {
			t.Allowed = append(t.Allowed[:0], t.Allowed[1:]...)
		}
	}
	for range source.Intn(5) {
		t.Allowed = append(t.Allowed, source.Pick(patterns))
	}
	return t
}

func (t *test) allows(question []string) bool {
	for _, pattern := range t.Allowed {
		parts := strings.Split(pattern, " ")
		matches := len(parts) == len(question)
		for i := 0; matches && i < len(parts); i++ {
			matches = parts[i] == "*" || parts[i] == question[i]
		}
		if matches {
			return true
		}
	}
	return false
}

func (t *test) run() {
	req := httptest.NewRequest(t.Method, t.Path, nil)
	for _, header := range t.Headers {
		req.Header.Add(header[0], header[1])
	}
	factory := request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	info, err := factory.NewRequestInfo(req)
	must(err)
	ctx := request.WithRequestInfo(audit.WithAuditContext(req.Context()), info)
	ctx = request.WithUser(ctx, &user.DefaultInfo{Name: t.User.Name, UID: t.User.UID, Groups: t.User.Groups, Extra: t.User.Extra})
	must(audit.AuditContextFrom(ctx).Init(audit.RequestAuditConfig{Level: auditinternal.LevelMetadata}, sink{t}))

	ask := authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		question := []string{a.GetVerb(), a.GetPath()}
		if a.IsResourceRequest() {
			question = []string{a.GetVerb(), a.GetAPIGroup(), a.GetResource(), a.GetSubresource(), a.GetNamespace(), a.GetName()}
		}
		told := strings.Join(question, " ")
		if keys := a.GetUser().GetExtra()["authentication.kubernetes.io/associated-node-keys"]; keys != nil {
			told += " by " + strings.Join(keys, ",")
		}
		t.Asked = append(t.Asked, told)
		if t.allows(question) {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "not in the list", nil
	})
	next := http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		u, _ := request.UserFrom(req.Context())
		t.Becomes = &who{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: u.GetExtra()}
		for name := range req.Header {
			if strings.HasPrefix(name, "Impersonate-") {
				t.Left = append(t.Left, name)
			}
		}
	})
	w := httptest.NewRecorder()
	impersonation.WithConstrainedImpersonation(next, ask, codecs).ServeHTTP(w, req.WithContext(ctx))
	audit.AuditContextFrom(ctx).ProcessEventStage(ctx, auditinternal.StageResponseComplete)
	if t.Becomes == nil {
		var status struct{ Message string }
		must(json.Unmarshal(w.Body.Bytes(), &status))
		t.Code, t.Message = w.Code, status.Message
	}
}

// Where the constraint can be seen.
type sink struct{ t *test }

func (s sink) ProcessEvents(events ...*auditinternal.Event) bool {
	for _, event := range events {
		if event.AuthenticationMetadata != nil {
			s.t.Constraint = event.AuthenticationMetadata.ImpersonationConstraint
		}
	}
	return true
}

func must(err error) {
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}
