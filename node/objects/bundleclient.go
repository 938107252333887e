package objects

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// bundleClient asks for trust bundles in one version of their API.
type bundleClient interface {
	List(ctx context.Context, options metav1.ListOptions) (*certificatesv1beta1.ClusterTrustBundleList, error)
	Watch(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error)
}

// bundleClients are those of v1, which an API server of 1.37 serves by default, and of
// v1beta1, which one before serves if it is told to.
func bundleClients(client kubernetes.Interface) []bundleClient {
	beta := client.CertificatesV1beta1().ClusterTrustBundles()
	connection, ok := client.CertificatesV1().RESTClient().(*rest.RESTClient)
	if !ok || connection == nil {
		return []bundleClient{beta} // a pretended API server
	}
	stable, err := stableBundles(connection)
	if err != nil {
		return []bundleClient{beta}
	}
	return []bundleClient{stable, beta}
}

// stableBundles reads v1 into the types of v1beta1, which have the same fields. The
// libraries of Kubernetes 1.36 have no others.
func stableBundles(connection *rest.RESTClient) (bundleClient, error) {
	version := certificatesv1.SchemeGroupVersion
	known := runtime.NewScheme()
	known.AddKnownTypeWithName(version.WithKind("ClusterTrustBundle"), &certificatesv1beta1.ClusterTrustBundle{})
	known.AddKnownTypeWithName(version.WithKind("ClusterTrustBundleList"), &certificatesv1beta1.ClusterTrustBundleList{})
	metav1.AddToGroupVersion(known, version)
	client, err := rest.NewRESTClient(connection.Get().AbsPath("/").URL(), "/apis/"+version.String(), rest.ClientContentConfig{
		ContentType: runtime.ContentTypeProtobuf, AcceptContentTypes: runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON,
		GroupVersion: version,
		Negotiator:   runtime.NewClientNegotiator(serializer.NewCodecFactory(known).WithoutConversion(), version),
	}, connection.GetRateLimiter(), connection.Client)
	if err != nil {
		return nil, err
	}
	return gentype.NewClientWithList("clustertrustbundles", client, scheme.ParameterCodec, "",
		func() *certificatesv1beta1.ClusterTrustBundle { return &certificatesv1beta1.ClusterTrustBundle{} },
		func() *certificatesv1beta1.ClusterTrustBundleList {
			return &certificatesv1beta1.ClusterTrustBundleList{}
		}), nil
}

// inServedVersion asks in each version until the API server serves it.
func inServedVersion[T any](clients []bundleClient, ask func(bundleClient) (T, error)) (answer T, err error) {
	for _, client := range clients {
		if answer, err = ask(client); !apierrors.IsNotFound(err) {
			return answer, err
		}
	}
	return answer, errNoTrustBundles
}
