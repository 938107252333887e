package join

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The ConfigMap with the configuration of nodes is kubeadm's.
const (
	nodeConfigMap = "kubelet-config"
	nodeConfigKey = "kubelet"
)

// NodeConfiguration is the KubeletConfiguration that the cluster has for its nodes.
func (c *Cluster) NodeConfiguration(ctx context.Context) (string, error) {
	m, err := c.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, nodeConfigMap, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read the configuration of nodes, ConfigMap kube-system/%s: %w", nodeConfigMap, err)
	}
	text := m.Data[nodeConfigKey]
	if text == "" {
		return "", fmt.Errorf("the configuration of nodes, ConfigMap kube-system/%s, has no key %q", nodeConfigMap, nodeConfigKey)
	}
	return text, nil
}

// NameIsFree is an error if another machine is a node of this name and ready: two
// of one name would end each other's pods.
func (c *Cluster) NameIsFree(ctx context.Context, name string) error {
	node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) { // not every cluster lets a new node ask
		return nil
	}
	if err != nil {
		return fmt.Errorf("ask for node %s: %w", name, err)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == v1.NodeReady && condition.Status == v1.ConditionTrue {
			return fmt.Errorf("there is a node %s in the cluster, and it is ready: choose another name with --hostname-override", name)
		}
	}
	return nil
}
