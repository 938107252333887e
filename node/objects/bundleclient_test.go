package objects

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
)

// TestVersionsOfTrustBundles: 1.37 serves v1, those before v1beta1, most none.
func TestVersionsOfTrustBundles(t *testing.T) {
	for _, test := range []struct{ served, want string }{
		{"v1", "one"}, {"v1beta1", "one"}, {"v1alpha1", errNoTrustBundles.Error()},
	} {
		t.Run(test.served, func(t *testing.T) {
			clients := bundleClients(serveBundles(t, test.served))
			list, err := inServedVersion(clients, func(c bundleClient) (*certificatesv1beta1.ClusterTrustBundleList, error) {
				return c.List(t.Context(), metav1.ListOptions{})
			})
			got := fmt.Sprint(err)
			if err == nil {
				got = list.Items[0].Name
			}
			if got != test.want {
				t.Errorf("the list has %s, want %s", got, test.want)
			}
			if got := firstWatched(t.Context(), clients); got != test.want {
				t.Errorf("the watch shows %s, want %s", got, test.want)
			}
		})
	}
}

// firstWatched is the name of the first bundle that a watch shows, or the error.
func firstWatched(ctx context.Context, clients []bundleClient) string {
	events, err := inServedVersion(clients, func(c bundleClient) (apiwatch.Interface, error) { return c.Watch(ctx, metav1.ListOptions{}) })
	if err != nil {
		return err.Error()
	}
	defer events.Stop()
	event := <-events.ResultChan()
	bundle, ok := event.Object.(*certificatesv1beta1.ClusterTrustBundle)
	if !ok {
		return fmt.Sprintf("%v", event.Object)
	}
	return bundle.Name
}

// serveBundles is a client of an API server with one trust bundle in one version.
func serveBundles(t *testing.T, version string) kubernetes.Interface {
	t.Helper()
	bundle := `{"apiVersion":"certificates.k8s.io/` + version + `","kind":"ClusterTrustBundle","metadata":{"name":"one"},"spec":{"trustBundle":"text"}}`
	mux := http.NewServeMux()
	mux.HandleFunc("/apis/certificates.k8s.io/"+version+"/clustertrustbundles", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") != "" {
			_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}`, bundle) // the client complains
			return
		}
		_, _ = fmt.Fprint(w, strings.Replace(`{"apiVersion":"certificates.k8s.io/VERSION","kind":"ClusterTrustBundleList","items":[`, "VERSION", version, 1)+bundle+"]}")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}
