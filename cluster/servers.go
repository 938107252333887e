package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyv1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
)

// serversConfigMap in kube-system has an entry for each of several servers, by its
// identity. It stays while a server is down, so that no node takes the server's place.
const serversConfigMap = "lifepod-servers"

type serverEntry struct {
	Name    string `json:"name"`
	Address net.IP `json:"address"`
}

// tellServer writes the entry of this server. Nobody but it and the administrator
// changes that.
func (l *layout) tellServer(ctx context.Context, client kubernetes.Interface) error {
	text, err := json.Marshal(serverEntry{Name: l.Node, Address: l.advertise})
	if err != nil {
		return err
	}
	self := l.identity[strings.LastIndexByte(l.identity, '_')+1:] // without the name, which may be too long
	entry := applyv1.ConfigMap(serversConfigMap, metav1.NamespaceSystem).WithData(map[string]string{self: string(text)})
	manager := metav1.ApplyOptions{FieldManager: "lifepod-" + self, Force: true}
	if _, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Apply(ctx, entry, manager); err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", metav1.NamespaceSystem, serversConfigMap, err)
	}
	<-ctx.Done()
	return nil
}

// servers are those that have an entry, and the addresses of all that serve.
func servers(ctx context.Context, client kubernetes.Interface) ([]serverEntry, error) {
	var all []serverEntry
	m, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, serversConfigMap, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("ask for the servers of the cluster: %w", err)
	}
	if err == nil {
		for identity, text := range m.Data {
			var s serverEntry
			if err := json.Unmarshal([]byte(text), &s); err != nil {
				return nil, fmt.Errorf("servers of the cluster: ConfigMap %s/%s, %s: %w", metav1.NamespaceSystem, serversConfigMap, identity, err)
			}
			all = append(all, s)
		}
	}
	slices, err := client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + kubernetesService,
	})
	if err != nil {
		return nil, fmt.Errorf("ask for the servers of the cluster: %w", err)
	}
	for i := range slices.Items {
		for _, endpoint := range slices.Items[i].Endpoints {
			for _, address := range endpoint.Addresses {
				all = append(all, serverEntry{Address: net.ParseIP(address)})
			}
		}
	}
	return all, nil
}

// kubernetesService is the Service of the API servers.
const kubernetesService = "kubernetes"
