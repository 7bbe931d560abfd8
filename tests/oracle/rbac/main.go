// Answers what Kubernetes' own code answers about roles: whether requests are allowed, which rules apply, whether rules may
// be given away, what cluster roles collect, and what is wrong with roles and bindings.
//
// Reads one policy with its questions a line, writes one line of answers for each. It is asked live, because the cases are
// too many to be kept; whoever asks makes them.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sort"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/apis/rbac"
	rbachelpers "k8s.io/kubernetes/pkg/apis/rbac/v1"
	rbacvalidation "k8s.io/kubernetes/pkg/apis/rbac/validation"
	registryvalidation "k8s.io/kubernetes/pkg/registry/rbac/validation"
	rbacauthorizer "k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

// One line of input. Objects come in the order in which they are to be looked at.
type world struct {
	Roles               []rbacv1.Role               `json:"roles"`
	ClusterRoles        []rbacv1.ClusterRole        `json:"clusterRoles"`
	RoleBindings        []rbacv1.RoleBinding        `json:"roleBindings"`
	ClusterRoleBindings []rbacv1.ClusterRoleBinding `json:"clusterRoleBindings"`
	Users               []info                      `json:"users"`
	Asks                []ask                       `json:"asks"`
	Reviews             []review                    `json:"reviews"`
	Gifts               []gift                      `json:"gifts"`
}

type info struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups"`
}

type ask struct {
	User        int    `json:"user"`
	Verb        string `json:"verb"`
	Path        string `json:"path"`
	Group       string `json:"group"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
}

type review struct {
	User      int    `json:"user"`
	Namespace string `json:"namespace"`
}

type gift struct {
	User      int                 `json:"user"`
	Namespace string              `json:"namespace"`
	Rules     []rbacv1.PolicyRule `json:"rules"`
}

// One line of output.
type answers struct {
	// The reason, after "+" if it is allowed.
	Asks []string `json:"asks"`
	// The rules, and what went wrong.
	Reviews []reviewed `json:"reviews"`
	// The refusal; empty if there is none.
	Gifts []string `json:"gifts"`
	// What each cluster role with an aggregation rule collects; null where a selector cannot be read.
	Aggregates [][]rbacv1.PolicyRule `json:"aggregates"`
	// What is wrong with each object; bindings are also compared with the first of their sort.
	Invalid map[string][]string `json:"invalid"`
}

type reviewed struct {
	Rules []rbacv1.PolicyRule `json:"rules"`
	Error string              `json:"error"`
}

// Finds roles as the server does: the authorizer through listers, which name an object, and the checks of writers through
// the storage, which names a resource.
type source struct {
	*world
	role, clusterRole string
}

func (s source) GetRole(_ context.Context, namespace, name string) (*rbacv1.Role, error) {
	for i := range s.Roles {
		if s.Roles[i].Namespace == namespace && s.Roles[i].Name == name {
			return &s.Roles[i], nil
		}
	}
	return nil, apierrors.NewNotFound(rbacv1.Resource(s.role), name)
}

func (s source) GetClusterRole(_ context.Context, name string) (*rbacv1.ClusterRole, error) {
	for i := range s.ClusterRoles {
		if s.ClusterRoles[i].Name == name {
			return &s.ClusterRoles[i], nil
		}
	}
	return nil, apierrors.NewNotFound(rbacv1.Resource(s.clusterRole), name)
}

func (s source) ListRoleBindings(_ context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	var found []*rbacv1.RoleBinding
	for i := range s.RoleBindings {
		if s.RoleBindings[i].Namespace == namespace {
			found = append(found, &s.RoleBindings[i])
		}
	}
	return found, nil
}

func (s source) ListClusterRoleBindings(context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	var found []*rbacv1.ClusterRoleBinding
	for i := range s.ClusterRoleBindings {
		found = append(found, &s.ClusterRoleBindings[i])
	}
	return found, nil
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	decoder, encoder := json.NewDecoder(in), json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for decoder.More() {
		var w world
		must(decoder.Decode(&w))
		must(encoder.Encode(w.answer()))
		must(out.Flush())
	}
}

func (w *world) answer() answers {
	lister := source{w, "role", "clusterrole"}
	storage := source{w, "roles", "clusterroles"}
	authorize := rbacauthorizer.New(lister, lister, lister, lister)
	ctx := context.Background()
	a := answers{Invalid: map[string][]string{}}
	for _, q := range w.Asks {
		decision, reason, err := authorize.Authorize(ctx, authorizer.AttributesRecord{
			User: w.user(q.User), Verb: q.Verb, Namespace: q.Namespace, APIGroup: q.Group, APIVersion: "v1", Resource: q.Resource,
			Subresource: q.Subresource, Name: q.Name, ResourceRequest: q.Path == "", Path: q.Path,
		})
		must(err)
		if decision == authorizer.DecisionAllow {
			reason = "+" + reason
		}
		a.Asks = append(a.Asks, reason)
	}
	for _, q := range w.Reviews {
		a.Reviews = append(a.Reviews, review1(registryvalidation.NewDefaultRuleResolver(lister, lister, lister, lister), w.user(q.User), q.Namespace))
	}
	resolver := registryvalidation.NewDefaultRuleResolver(storage, storage, storage, storage)
	for _, q := range w.Gifts {
		ctx := request.WithNamespace(request.WithUser(ctx, w.user(q.User)), q.Namespace)
		refusal := ""
		if err := registryvalidation.ConfirmNoEscalation(ctx, resolver, q.Rules); err != nil {
			refusal = err.Error()
		}
		a.Gifts = append(a.Gifts, refusal)
	}
	for i := range w.ClusterRoles {
		if w.ClusterRoles[i].AggregationRule != nil {
			a.Aggregates = append(a.Aggregates, w.aggregate(&w.ClusterRoles[i]))
		}
	}
	w.validate(a.Invalid)
	return a
}

func (w *world) user(i int) user.Info {
	return &user.DefaultInfo{Name: w.Users[i].Name, Groups: w.Users[i].Groups}
}

func review1(resolver registryvalidation.AuthorizationRuleResolver, who user.Info, namespace string) reviewed {
	rules, err := resolver.RulesFor(context.Background(), who, namespace)
	r := reviewed{Rules: rules}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// The controller does this between a lister and an apply, and cannot be asked alone.
func (w *world) aggregate(role *rbacv1.ClusterRole) []rbacv1.PolicyRule {
	rules := []rbacv1.PolicyRule{}
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil
		}
		var selected []*rbacv1.ClusterRole
		for j := range w.ClusterRoles {
			if other := &w.ClusterRoles[j]; other.Name != role.Name && selector.Matches(labels.Set(other.Labels)) {
				selected = append(selected, other)
			}
		}
		sort.Slice(selected, func(i, j int) bool { return selected[i].Name < selected[j].Name })
		for _, other := range selected {
			for _, rule := range other.Rules {
				known := false
				for _, old := range rules {
					known = known || equality.Semantic.DeepEqual(old, rule)
				}
				if !known {
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules
}

func (w *world) validate(invalid map[string][]string) {
	for i := range w.Roles {
		var role rbac.Role
		must(rbachelpers.Convert_v1_Role_To_rbac_Role(&w.Roles[i], &role, nil))
		note(invalid, "role "+role.Namespace+" "+role.Name, rbacvalidation.ValidateRole(&role))
	}
	for i := range w.ClusterRoles {
		var role rbac.ClusterRole
		must(rbachelpers.Convert_v1_ClusterRole_To_rbac_ClusterRole(&w.ClusterRoles[i], &role, nil))
		note(invalid, "clusterrole "+role.Name, rbacvalidation.ValidateClusterRole(&role, rbacvalidation.ClusterRoleValidationOptions{}))
	}
	var first rbac.RoleBinding
	for i := range w.RoleBindings {
		var binding rbac.RoleBinding
		must(rbachelpers.Convert_v1_RoleBinding_To_rbac_RoleBinding(&w.RoleBindings[i], &binding, nil))
		if i == 0 {
			first = binding
		}
		old := first.DeepCopy()
		old.ObjectMeta = binding.ObjectMeta
		binding.ResourceVersion = "1"
		note(invalid, "rolebinding "+binding.Namespace+" "+binding.Name, rbacvalidation.ValidateRoleBindingUpdate(&binding, old))
	}
	var firstOfCluster rbac.ClusterRoleBinding
	for i := range w.ClusterRoleBindings {
		var binding rbac.ClusterRoleBinding
		must(rbachelpers.Convert_v1_ClusterRoleBinding_To_rbac_ClusterRoleBinding(&w.ClusterRoleBindings[i], &binding, nil))
		if i == 0 {
			firstOfCluster = binding
		}
		old := firstOfCluster.DeepCopy()
		old.ObjectMeta = binding.ObjectMeta
		binding.ResourceVersion = "1"
		note(invalid, "clusterrolebinding "+binding.Name, rbacvalidation.ValidateClusterRoleBindingUpdate(&binding, old))
	}
}

func note(invalid map[string][]string, object string, list field.ErrorList) {
	for _, err := range list {
		invalid[object] = append(invalid[object], err.Error())
	}
}

func must(err error) {
	var known *os.PathError
	if err != nil && !errors.As(err, &known) {
		panic(err)
	}
	if err != nil {
		os.Exit(1)
	}
}
