package controlplane

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// bootstrappersGroup is what kubeadm puts the tokens of joining nodes into.
const bootstrappersGroup = "system:bootstrappers:kubeadm:default-node-token"

// bootstrapBindings let a node with a bootstrap token ask for its first client
// certificate, and a node for the next one; both are approved automatically.
// Serving certificates are not: as with kubeadm, somebody must approve them.
var bootstrapBindings = []struct{ name, role, group string }{
	{"kubeadm:kubelet-bootstrap", "system:node-bootstrapper", bootstrappersGroup},
	{"kubeadm:node-autoapprove-bootstrap", "system:certificates.k8s.io:certificatesigningrequests:nodeclient", bootstrappersGroup},
	{"kubeadm:node-autoapprove-certificate-rotation", "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", nodesGroup},
}

// BootstrapKubeconfig makes a bootstrap token and writes a kubeconfig file with
// it. Each call makes another token and overwrites the file.
func (c *ControlPlane) BootstrapKubeconfig(ctx context.Context) (string, error) {
	id, secret := strings.ToLower(rand.Text()[:6]), strings.ToLower(rand.Text()[:16])
	token := &v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + id},
		Type:       v1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id":                       id,
			"token-secret":                   secret,
			"usage-bootstrap-authentication": "true",
			"usage-bootstrap-signing":        "true",
			"auth-extra-groups":              bootstrappersGroup,
		},
	}
	if _, err := c.client.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, token, metav1.CreateOptions{}); err != nil {
		return "", fmt.Errorf("create bootstrap token: %w", err)
	}
	path := c.file(bootstrapConfig)
	if err := c.writeKubeconfig(path, "bootstrap", &clientcmdapi.AuthInfo{Token: id + "." + secret}); err != nil {
		return "", err
	}
	return path, c.awaitBootstrap(ctx, path)
}

// awaitBootstrap waits until the API server has learned of token and bindings,
// which it does by watches of its own.
func (c *ControlPlane) awaitBootstrap(ctx context.Context, kubeconfig string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return c.await(ctx, "a bootstrap token to be of use", func(ctx context.Context) error {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: "create", Group: certificatesv1.GroupName, Resource: "certificatesigningrequests",
			},
		}}
		answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err == nil && !answer.Status.Allowed {
			return fmt.Errorf("certificate requests are not allowed yet: %s", answer.Status.Reason)
		}
		return err
	})
}

// letNodesJoin makes the bindings that kubeadm makes.
func (c *ControlPlane) letNodesJoin(ctx context.Context) error {
	for _, b := range bootstrapBindings {
		if err := c.bind(ctx, b.name, b.role, b.group); err != nil {
			return err
		}
	}
	return nil
}

func (c *ControlPlane) bind(ctx context.Context, name, role, group string) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
	}
	if _, err := c.client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("bind role %q to group %q: %w", role, group, err)
	}
	return nil
}
