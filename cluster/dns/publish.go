package dns

import (
	"context"
	"fmt"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"
	discoveryv1 "k8s.io/client-go/applyconfigurations/discovery/v1"
)

// Where pods find cluster DNS, by the names that everybody knows.
const (
	serviceName = "kube-dns"
	namespace   = meta.NamespaceSystem
	manager     = "lifepod"
	port        = 53
)

// publish makes the Service, and this server one of its endpoints.
func (c Config) publish(ctx context.Context, own int) error {
	if err := c.namespace(ctx); err != nil {
		return fmt.Errorf("cluster DNS: namespace %s: %w", namespace, err)
	}
	options := meta.ApplyOptions{FieldManager: manager, Force: true}
	if _, err := c.Client.CoreV1().Services(namespace).Apply(ctx, c.service(), options); err != nil {
		return fmt.Errorf("cluster DNS: Service %s/%s: %w", namespace, serviceName, err)
	}
	if _, err := c.Client.DiscoveryV1().EndpointSlices(namespace).Apply(ctx, c.slice(own), options); err != nil {
		return fmt.Errorf("cluster DNS: EndpointSlice of %s/%s: %w", namespace, serviceName, err)
	}
	return nil
}

// namespace is made by the API server a moment after its start.
func (c Config) namespace(ctx context.Context) error {
	_, err := c.Client.CoreV1().Namespaces().Create(ctx, &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: namespace}}, meta.CreateOptions{})
	if errors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (c Config) service() *corev1.ServiceApplyConfiguration {
	of := func(name string, protocol core.Protocol) *corev1.ServicePortApplyConfiguration {
		return corev1.ServicePort().WithName(name).WithProtocol(protocol).WithPort(port).WithTargetPort(intstr.FromInt32(port))
	}
	return corev1.Service(serviceName, namespace).
		WithLabels(map[string]string{"k8s-app": serviceName, "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"}).
		WithSpec(corev1.ServiceSpec().
			WithType(core.ServiceTypeClusterIP).
			WithClusterIP(c.ServiceIP).
			WithPorts(of("dns", core.ProtocolUDP), of("dns-tcp", core.ProtocolTCP)))
}

func (c Config) slice(own int) *discoveryv1.EndpointSliceApplyConfiguration {
	of := func(name string, protocol core.Protocol) *discoveryv1.EndpointPortApplyConfiguration {
		return discoveryv1.EndpointPort().WithName(name).WithProtocol(protocol).WithPort(int32(own))
	}
	return discoveryv1.EndpointSlice(serviceName+"-"+c.Node, namespace).
		WithLabels(map[string]string{discovery.LabelServiceName: serviceName, discovery.LabelManagedBy: manager}).
		WithAddressType(discovery.AddressTypeIPv4).
		WithEndpoints(discoveryv1.Endpoint().WithAddresses(c.Address.String()).
			WithConditions(discoveryv1.EndpointConditions().WithReady(true)).WithNodeName(c.Node)).
		WithPorts(of("dns", core.ProtocolUDP), of("dns-tcp", core.ProtocolTCP))
}
