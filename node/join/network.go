package join

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The ConfigMap in kube-system, of clusters of lifepod up, that says what network a
// joining node is part of.
const (
	NetworkConfigMap = "lifepod-network"
	NetworkKey       = "network.json"
)

// Network is what each node of a cluster does itself: routes to the pods of the
// others, and service traffic. It is zero in a cluster where others do that, such as
// one of kubeadm.
type Network struct {
	Pods     netip.Prefix `json:"pods,omitzero"`     // addresses of all nodes' pods
	Services netip.Prefix `json:"services,omitzero"` // addresses of services
}

// Network asks the cluster for it.
func (c *Cluster) Network(ctx context.Context) (n Network, err error) {
	m, err := c.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, NetworkConfigMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) { // other clusters have none, or say neither
		return n, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(m.Data[NetworkKey]), &n)
	}
	if err != nil {
		return n, fmt.Errorf("read the network of the cluster, ConfigMap kube-system/%s: %w", NetworkConfigMap, err)
	}
	return n, nil
}

// Network is what the cluster said when this machine joined.
func (f Folder) Network() (n Network, err error) {
	text, err := os.ReadFile(f.networkFile())
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	if err != nil {
		return n, fmt.Errorf("network of the cluster in %s: %w", f.networkFile(), err)
	}
	return n, nil
}
