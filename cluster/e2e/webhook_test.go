package e2e

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admission "k8s.io/api/admission/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/internal/assert"
)

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.e2e.lifepod.dev}
spec:
  group: e2e.lifepod.dev
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wdg]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {size: {type: integer, default: 1}, color: {type: string}}, x-kubernetes-validations: [{rule: "self.size < 100", message: too large for a rule}]},
      status: {type: object, properties: {ok: {type: boolean}}}}}}
`

const webhook = `
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: PATH.SPACE}
webhooks:
- {name: PATH.e2e.lifepod.dev, admissionReviewVersions: [v1], sideEffects: None, timeoutSeconds: 30,
   namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: SPACE}},
   rules: [{apiGroups: [e2e.lifepod.dev], apiVersions: [v1], operations: [CREATE], resources: [widgets]}], clientConfig: {caBundle: CA, TARGET}}
`

const webhookService = `
---
apiVersion: v1
kind: Service
metadata: {name: hook}
spec: {ports: [{port: 443, targetPort: PORT}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: hook, labels: {kubernetes.io/service-name: hook}}
addressType: IPv4
endpoints: [{addresses: [ADDRESS]}]
ports: [{port: PORT}]
`

func widget(name, color string, size int) string {
	return fmt.Sprintf("\n---\napiVersion: e2e.lifepod.dev/v1\nkind: Widget\nmetadata: {name: %s}\nspec: {color: %s, size: %d}\n", name, color, size)
}

// judge is a webhook's server: at /COLOR it refuses what has that color.
func judge(w http.ResponseWriter, r *http.Request) {
	var review admission.AdmissionReview
	var object struct{ Spec struct{ Color string } }
	err := json.NewDecoder(r.Body).Decode(&review)
	if err == nil {
		err = json.Unmarshal(review.Request.Object.Raw, &object)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	refused := strings.TrimPrefix(r.URL.Path, "/")
	review.Response = &admission.AdmissionResponse{UID: review.Request.UID, Allowed: object.Spec.Color != refused, Result: &meta.Status{Message: refused + " is out of fashion"}}
	review.Request = nil
	_ = json.NewEncoder(w).Encode(review) // who asked may be gone
}

// startJudge serves judge on all addresses of the machine, with a certificate for some
// names that is its own authority.
func startJudge(t *testing.T, address string, names ...string) (port int, authority []byte) {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey(address, []net.IP{net.ParseIP(address)}, names)
	assert.Must(t, err)
	pair := assert.Get(tls.X509KeyPair(certificate, key)).Must(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(judge))
	assert.Must(t, server.Listener.Close())
	server.Listener = assert.Get(net.Listen("tcp", "0.0.0.0:0")).Must(t)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().(*net.TCPAddr).Port, certificate
}

// A type of one's own has its schema, rules, status and short name, and webhooks judge
// its objects, whether they are found by URL or by Service.
func TestCustomResourceAndWebhooks(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	address := s.kubectl("get", "node", instance.Node, "-o", `jsonpath={.status.addresses[?(@.type=="InternalIP")].address}`)
	port, authority := startJudge(t, address, "hook."+s.name+".svc")
	ca := base64.StdEncoding.EncodeToString(authority)
	fill := func(text, path, target string) string {
		return strings.NewReplacer("PATH", path, "SPACE", s.name, "CA", ca, "TARGET", target, "PORT", fmt.Sprint(port), "ADDRESS", address).Replace(text)
	}
	everything := widgets +
		fill(webhook, "red", fmt.Sprintf("url: 'https://%s:%d/red'", address, port)) +
		fill(webhook, "blue", "service: {name: hook, namespace: "+s.name+", path: /blue}")
	t.Cleanup(func() {
		assert.NoError(t, assert.ErrorOf(up.Kubectl(context.Background(), everything, "delete", "--wait=false", "-f", "-")))
	})
	s.create(everything + fill(webhookService, "", ""))
	s.wait("crd/widgets.e2e.lifepod.dev", "condition=Established")
	for _, color := range []string{"red", "blue"} {
		want := fmt.Sprintf(`admission webhook "%[1]s.e2e.lifepod.dev" denied the request: %[1]s is out of fashion`, color)
		s.until("a webhook refuses what is "+color, func() error {
			_, err := s.try(widget("never", color, 1), "create", "--dry-run=server", "-f", "-")
			if err == nil || !strings.Contains(err.Error(), want) {
				return fmt.Errorf("want %s, got %v", want, err) //nolint:errorlint // nil, too
			}
			return nil
		})
	}
	s.create(widget("one", "green", 7))
	s.kubectl("patch", "widget", "one", "--subresource=status", "--type=merge", "-p", `{"status":{"ok":true}}`)
	got := s.kubectl("get", "wdg", "--no-headers", "-o", "custom-columns=:.metadata.name,:.spec.size,:.status.ok")
	assert.True(t, strings.Join(strings.Fields(got), " ") == "one 7 true", "widgets are %q, want one", got)
	why := s.refused(widget("large", "green", 100))
	assert.True(t, strings.Contains(why, "too large for a rule"), "refused because %s", why)
	why = s.refused(widget("odd", "5", 1))
	assert.True(t, strings.Contains(why, `spec.color in body must be of type string`), "refused because %s", why)
}
