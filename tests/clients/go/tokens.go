package main

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// tokens works as a service account, until the account or what its token is bound to is gone. From then on it is refused,
// and that soon.
func tokens(ctx context.Context, config *rest.Config, namespace string, soon time.Duration) error {
	admin, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := makeAccount(ctx, admin, namespace); err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	secret, err = admin.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	plain, err := comeAs(ctx, admin, config, namespace, nil)
	if err != nil {
		return fmt.Errorf("a token: %w", err)
	}
	bound, err := comeAs(ctx, admin, config, namespace, &authenticationv1.BoundObjectReference{
		APIVersion: "v1", Kind: "Secret", Name: secret.Name, UID: secret.UID,
	})
	if err != nil {
		return fmt.Errorf("a token that is bound to a secret: %w", err)
	}
	if err := admin.CoreV1().Secrets(namespace).Delete(ctx, secret.Name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := refused(ctx, bound, namespace, soon); err != nil {
		return fmt.Errorf("after the secret is gone: %w", err)
	}
	if err := use(ctx, plain, namespace); err != nil {
		return fmt.Errorf("a token that was bound to nothing: %w", err)
	}
	if err := admin.CoreV1().ServiceAccounts(namespace).Delete(ctx, "robot", metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := refused(ctx, plain, namespace, soon); err != nil {
		return fmt.Errorf("after the account is gone: %w", err)
	}
	return nil
}

func makeAccount(ctx context.Context, admin kubernetes.Interface, namespace string) error {
	named := metav1.ObjectMeta{Name: "robot"}
	account := &corev1.ServiceAccount{ObjectMeta: named}
	if _, err := admin.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return err
	}
	role := &rbacv1.Role{ObjectMeta: named, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}},
	}}
	if _, err := admin.RbacV1().Roles(namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: named,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "robot"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "robot", Namespace: namespace}},
	}
	_, err := admin.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{})
	return err
}

// comeAs is a client that has nothing but a token of the account, and has used it.
func comeAs(
	ctx context.Context, admin kubernetes.Interface, config *rest.Config, namespace string,
	bound *authenticationv1.BoundObjectReference,
) (kubernetes.Interface, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: bound}}
	issued, err := admin.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, "robot", request, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	if lifetime := time.Until(issued.Status.ExpirationTimestamp.Time); lifetime < 50*time.Minute {
		return nil, fmt.Errorf("it is good for %s only", lifetime)
	}
	anonymous := rest.AnonymousClientConfig(config)
	anonymous.BearerToken = issued.Status.Token
	anonymous.QPS, anonymous.Burst = config.QPS, config.Burst
	robot, err := kubernetes.NewForConfig(anonymous)
	if err != nil {
		return nil, err
	}
	review := &authenticationv1.SelfSubjectReview{}
	review, err = robot.AuthenticationV1().SelfSubjectReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	if name := review.Status.UserInfo.Username; name != "system:serviceaccount:"+namespace+":robot" {
		return nil, fmt.Errorf("it is a token of %s", name)
	}
	return robot, use(ctx, robot, namespace)
}

func use(ctx context.Context, robot kubernetes.Interface, namespace string) error {
	if _, err := robot.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{}); err != nil {
		return err
	}
	if _, err := robot.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{}); !errors.IsForbidden(err) {
		return fmt.Errorf("what no role allows: %v", err)
	}
	return nil
}

// refused waits until a client is not believed any more.
func refused(ctx context.Context, robot kubernetes.Interface, namespace string, soon time.Duration) error {
	start := time.Now()
	for {
		asked := time.Now()
		_, err := robot.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
		if errors.IsUnauthorized(err) {
			return nil
		}
		if asked.Sub(start) > soon {
			return fmt.Errorf("it is still believed after %s: %v", asked.Sub(start), err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
