package state

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/lifepod/lifepod/cluster/pki"
)

// Where every API server since Kubernetes 1.33 has what makes a cluster another's.
const (
	authorityKey = "/configmaps/kube-system/extension-apiserver-authentication"
	rangeKey     = "/servicecidrs/kubernetes"
)

// others is what is known of a cluster that no lifepod has begun, nil if there is
// none: whose authority it trusts, and its services' addresses.
func (p Place) others(ctx context.Context, client *clientv3.Client) (*Record, error) {
	trust, err := object[*corev1.ConfigMap](ctx, p, client, authorityKey)
	if trust == nil || err != nil {
		return nil, err
	}
	r := &Record{}
	if r.Keys, err = pki.AuthorityFingerprint([]byte(trust.Data["client-ca-file"])); err != nil {
		return nil, fmt.Errorf("authority of the cluster in etcd: %w", err)
	}
	cidr, err := object[*networkingv1.ServiceCIDR](ctx, p, client, rangeKey)
	if err != nil {
		return nil, err
	}
	if cidr != nil && len(cidr.Spec.CIDRs) > 0 {
		r.Services = cidr.Spec.CIDRs[0]
	}
	return r, nil
}

// object is one as the API server has stored it; nil if there is none.
func object[T runtime.Object](ctx context.Context, p Place, client *clientv3.Client, key string) (o T, err error) {
	key = p.prefix() + key
	answer, err := client.Get(ctx, key)
	if err != nil {
		return o, fmt.Errorf("read %s of etcd: %w", key, p.explain(err, true))
	}
	if len(answer.Kvs) == 0 {
		return o, nil
	}
	stored, _, err := scheme.Codecs.UniversalDeserializer().Decode(answer.Kvs[0].Value, nil, nil)
	if err != nil {
		return o, fmt.Errorf("%s of etcd can't be read (is it encrypted?): %w", key, err)
	}
	o, ok := stored.(T)
	if !ok {
		return o, fmt.Errorf("%s of etcd is a %T", key, stored)
	}
	return o, nil
}
