// Package hostkinds names the kinds of Kubernetes that a server without a cluster serves itself.
package hostkinds

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// All are the kinds and their lists.
var All = []runtime.Object{
	&corev1.Namespace{}, &corev1.NamespaceList{},
	&corev1.ConfigMap{}, &corev1.ConfigMapList{},
	&corev1.Secret{}, &corev1.SecretList{},
	&corev1.ServiceAccount{}, &corev1.ServiceAccountList{},
	&corev1.ResourceQuota{}, &corev1.ResourceQuotaList{},
	&corev1.Event{}, &corev1.EventList{},
	&corev1.PodTemplate{}, &corev1.PodTemplateList{},
	&eventsv1.Event{}, &eventsv1.EventList{},
	&coordinationv1.Lease{}, &coordinationv1.LeaseList{},
	&rbacv1.Role{}, &rbacv1.RoleList{},
	&rbacv1.ClusterRole{}, &rbacv1.ClusterRoleList{},
	&rbacv1.RoleBinding{}, &rbacv1.RoleBindingList{},
	&rbacv1.ClusterRoleBinding{}, &rbacv1.ClusterRoleBindingList{},
	&authenticationv1.TokenReview{}, &authenticationv1.SelfSubjectReview{}, &authenticationv1.TokenRequest{},
	&authorizationv1.SubjectAccessReview{}, &authorizationv1.LocalSubjectAccessReview{},
	&authorizationv1.SelfSubjectAccessReview{}, &authorizationv1.SelfSubjectRulesReview{},
	&apiextensionsv1.CustomResourceDefinition{}, &apiextensionsv1.CustomResourceDefinitionList{},
}

// Scheme knows the kinds.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, eventsv1.AddToScheme, coordinationv1.AddToScheme, rbacv1.AddToScheme,
		authenticationv1.AddToScheme, authorizationv1.AddToScheme, apiextensionsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
}

// GVK is what an object of one of the kinds says it is.
func GVK(scheme *runtime.Scheme, object runtime.Object) schema.GroupVersionKind {
	gvks, _, err := scheme.ObjectKinds(object)
	if err != nil {
		panic(err)
	}
	return gvks[0]
}
