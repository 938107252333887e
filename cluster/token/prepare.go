package token

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/node/join"
)

// Config says what joining machines are told.
type Config struct {
	Client    kubernetes.Interface
	Server    string // URL at which other machines find the API server
	Authority []byte // of the cluster, in PEM
	DNS       []string
	Domain    string
	// FeatureGates are the cluster's, as far as they concern nodes.
	FeatureGates map[string]bool
	// Network is the cluster's pod network of routes between nodes.
	Network join.Network
}

// NodeConfigMap in kube-system has the KubeletConfiguration of joining nodes, in
// NodeConfigKey, where kubeadm has it.
const (
	NodeConfigMap = "kubelet-config"
	NodeConfigKey = "kubelet"
)

// retry is how what the API server refuses for now is tried again.
var retry = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Steps: 10, Cap: time.Minute}

// Run prepares the API server for machines that join, and returns when ctx ends.
func Run(ctx context.Context, c Config) error {
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, retry, func(ctx context.Context) (bool, error) {
		last = Prepare(ctx, c)
		return last == nil, nil
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("prepare for joining nodes: %w", last)
	}
	<-ctx.Done()
	return nil
}

// Prepare writes what joining machines need, where it is not there or different.
func Prepare(ctx context.Context, c Config) error {
	if err := c.writeClusterInfo(ctx); err != nil {
		return err
	}
	if err := c.writeNodeConfig(ctx); err != nil {
		return err
	}
	if err := c.writeNetwork(ctx); err != nil {
		return err
	}
	rbac := c.Client.RbacV1()
	for _, r := range clusterRoles() {
		if err := ensure(ctx, rbac.ClusterRoles(), r, func(have *rbacv1.ClusterRole) { have.Rules = r.Rules }); err != nil {
			return err
		}
	}
	for _, b := range clusterRoleBindings() {
		if err := ensure(ctx, rbac.ClusterRoleBindings(), b, func(have *rbacv1.ClusterRoleBinding) { have.Subjects = b.Subjects }); err != nil {
			return err
		}
	}
	for _, r := range roles() {
		if err := ensure(ctx, rbac.Roles(r.Namespace), r, func(have *rbacv1.Role) { have.Rules = r.Rules }); err != nil {
			return err
		}
	}
	for _, b := range roleBindings() {
		if err := ensure(ctx, rbac.RoleBindings(b.Namespace), b, func(have *rbacv1.RoleBinding) { have.Subjects = b.Subjects }); err != nil {
			return err
		}
	}
	return nil
}

// object is one of the API, as a pointer.
type object[T any] interface {
	*T
	metav1.Object
	DeepCopy() *T
}

// resource is the client of one kind.
type resource[O any] interface {
	Create(ctx context.Context, o O, options metav1.CreateOptions) (O, error)
	Get(ctx context.Context, name string, options metav1.GetOptions) (O, error)
	Update(ctx context.Context, o O, options metav1.UpdateOptions) (O, error)
}

// ensure creates an object, or changes the one that is there if set makes a difference.
func ensure[T any, O object[T]](ctx context.Context, api resource[O], want O, set func(have O)) error {
	have, err := api.Get(ctx, want.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = api.Create(ctx, want, metav1.CreateOptions{})
		if err == nil {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("write %T %s: %w", want, want.GetName(), err)
	}
	before := O(have.DeepCopy())
	set(have)
	if equality.Semantic.DeepEqual(before, have) {
		return nil
	}
	if _, err := api.Update(ctx, have, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("change %T %s: %w", want, want.GetName(), err)
	}
	return nil
}

// writeClusterInfo tells who has no credentials yet where the cluster is, and which
// authority to trust. Each token's signature is put beside it by a controller.
func (c Config) writeClusterInfo(ctx context.Context) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[""] = &clientcmdapi.Cluster{Server: c.Server, CertificateAuthorityData: c.Authority}
	text, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return c.writeConfigMap(ctx, metav1.NamespacePublic, bootstrapapi.ConfigMapClusterInfo, bootstrapapi.KubeConfigKey, string(text))
}

// PodPidsLimit is how many processes and threads a pod of these clusters may have: more
// than programs need, and less than what brings a machine down.
const PodPidsLimit = 4096

// writeNodeConfig writes the configuration of joining nodes. clientCAFile is where
// kubeadm has the authority; lifepod join puts its own place there.
func (c Config) writeNodeConfig(ctx context.Context) error {
	fields := map[string]any{
		"apiVersion":         "kubelet.config.k8s.io/v1beta1",
		"kind":               "KubeletConfiguration",
		"clusterDNS":         c.DNS,
		"clusterDomain":      c.Domain,
		"rotateCertificates": true,
		"serverTLSBootstrap": true, // the API server verifies whom it calls
		"seccompDefault":     true, // as on the node of this machine
		"podPidsLimit":       PodPidsLimit,
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false},
			"webhook":   map[string]any{"enabled": true},
			"x509":      map[string]any{"clientCAFile": "/etc/kubernetes/pki/ca.crt"},
		},
		"authorization": map[string]any{"mode": "Webhook"},
	}
	if len(c.FeatureGates) > 0 {
		fields["featureGates"] = c.FeatureGates
	}
	text, err := yaml.Marshal(fields)
	if err != nil {
		return err
	}
	return c.writeConfigMap(ctx, metav1.NamespaceSystem, NodeConfigMap, NodeConfigKey, string(text))
}

// writeNetwork tells joining nodes of the network that they are to be part of.
func (c Config) writeNetwork(ctx context.Context) error {
	text, err := json.Marshal(c.Network)
	if err != nil {
		return err
	}
	return c.writeConfigMap(ctx, metav1.NamespaceSystem, join.NetworkConfigMap, join.NetworkKey, string(text))
}

func (c Config) writeConfigMap(ctx context.Context, namespace, name, key, text string) error {
	want := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{key: text}}
	return ensure(ctx, c.Client.CoreV1().ConfigMaps(namespace), want, func(have *v1.ConfigMap) {
		if have.Data == nil {
			have.Data = map[string]string{}
		}
		have.Data[key] = text
	})
}
