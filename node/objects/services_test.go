package objects

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/criconfig"
)

func service(namespace, name, ip string, ports ...v1.ServicePort) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"big": "one"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
		Spec:       v1.ServiceSpec{ClusterIP: ip, Ports: ports, Selector: map[string]string{"a": "b"}},
	}
}

var clusterServices = []runtime.Object{
	service("default", "kubernetes", "10.0.0.1", v1.ServicePort{Name: "https", Port: 443}),
	service("default", "other", "10.0.0.2", v1.ServicePort{Port: 1}),
	service("shop", "my-db", "fd00::3", v1.ServicePort{Name: "sql-port", Port: 5432}, v1.ServicePort{Name: "gossip", Port: 7946, Protocol: v1.ProtocolUDP}),
	service("shop", "headless", "None", v1.ServicePort{Port: 2}),
	service("shop", "elsewhere", "", v1.ServicePort{Port: 3}),
	service("odd", "kubernetes", "10.0.0.9", v1.ServicePort{Port: 6443}),
}

func podIn(namespace string, links *bool) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p"},
		Spec:       v1.PodSpec{EnableServiceLinks: links},
	}
}

func started(t *testing.T, client *fake.Clientset, log *slog.Logger) *Services {
	t.Helper()
	s := assert.Get(NewServices(client, log)).Must(t)
	assert.Runs(t, s.Run)
	return s
}

func TestVariables(t *testing.T) {
	master := []criconfig.KeyValue{
		{Name: "KUBERNETES_SERVICE_HOST", Value: "10.0.0.1"},
		{Name: "KUBERNETES_SERVICE_PORT", Value: "443"},
		{Name: "KUBERNETES_SERVICE_PORT_HTTPS", Value: "443"},
		{Name: "KUBERNETES_PORT", Value: "tcp://10.0.0.1:443"},
		{Name: "KUBERNETES_PORT_443_TCP", Value: "tcp://10.0.0.1:443"},
		{Name: "KUBERNETES_PORT_443_TCP_PROTO", Value: "tcp"},
		{Name: "KUBERNETES_PORT_443_TCP_PORT", Value: "443"},
		{Name: "KUBERNETES_PORT_443_TCP_ADDR", Value: "10.0.0.1"},
	}
	database := []criconfig.KeyValue{
		{Name: "MY_DB_SERVICE_HOST", Value: "fd00::3"},
		{Name: "MY_DB_SERVICE_PORT", Value: "5432"},
		{Name: "MY_DB_SERVICE_PORT_SQL_PORT", Value: "5432"},
		{Name: "MY_DB_SERVICE_PORT_GOSSIP", Value: "7946"},
		{Name: "MY_DB_PORT", Value: "tcp://[fd00::3]:5432"},
		{Name: "MY_DB_PORT_5432_TCP", Value: "tcp://[fd00::3]:5432"},
		{Name: "MY_DB_PORT_5432_TCP_PROTO", Value: "tcp"},
		{Name: "MY_DB_PORT_5432_TCP_PORT", Value: "5432"},
		{Name: "MY_DB_PORT_5432_TCP_ADDR", Value: "fd00::3"},
		{Name: "MY_DB_PORT_7946_UDP", Value: "udp://[fd00::3]:7946"},
		{Name: "MY_DB_PORT_7946_UDP_PROTO", Value: "udp"},
		{Name: "MY_DB_PORT_7946_UDP_PORT", Value: "7946"},
		{Name: "MY_DB_PORT_7946_UDP_ADDR", Value: "fd00::3"},
	}
	s := started(t, fake.NewSimpleClientset(clusterServices...), slog.New(slog.DiscardHandler))
	for _, tc := range []struct {
		name string
		pod  *v1.Pod
		want []criconfig.KeyValue
	}{
		{"A-ENV-7 the API server and the namespace's, with an address only", podIn("shop", new(true)), append(slices.Clip(master), database...)},
		{"A-ENV-7 without links the API server only", podIn("shop", new(false)), master},
		{"A-ENV-7 in a namespace without any", podIn("empty", new(true)), master},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := assert.Get(s.Variables(t.Context(), tc.pod)).Must(t)
			assert.Deep(t, "variables", tc.want, got)
		})
	}
	odd, err := s.Variables(t.Context(), podIn("odd", new(true)))
	assert.True(t, err == nil && odd[0].Value == "10.0.0.9", "the namespace's own service kubernetes: %v, error %v", odd, err)
	assert.Error(t, "nil pod.spec.enableServiceLinks encountered, cannot construct envvars", assert.ErrorOf(s.Variables(t.Context(), podIn("shop", nil))), "A-ENV-1 without enableServiceLinks")
}

func TestOnlyWhatIsNeededIsKept(t *testing.T) {
	s := started(t, fake.NewSimpleClientset(clusterServices[2]), slog.New(slog.DiscardHandler))
	_, read := s.read(t.Context(), true)
	assert.Require(t, read, "not read")
	got, _, _ := s.informer.GetIndexer().GetByKey("shop/my-db")
	want := service("shop", "my-db", "fd00::3", v1.ServicePort{Name: "sql-port", Port: 5432}, v1.ServicePort{Name: "gossip", Port: 7946, Protocol: v1.ProtocolUDP})
	want.Labels, want.ManagedFields, want.Spec.Selector = nil, nil, nil
	assert.Deep(t, "kept", want, got)
}

// TestUnread: A-ENV-1, as long as the API server does not answer; a static pod
// does not care. That it does not answer is reported once.
func TestUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewSimpleClientset(clusterServices...)
		client.PrependReactor("list", "services", func(k8stesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("no route")
		})
		var log bytes.Buffer
		s := assert.Get(NewServices(client, slog.New(slog.NewTextHandler(&log, nil)))).Must(t)
		stop := assert.Runs(t, s.Run)
		for range 3 {
			assert.ErrorIs(t, errUnread, assert.ErrorOf(s.Variables(t.Context(), podIn("shop", new(true)))), "A-ENV-1")
		}
		static := podIn("shop", new(true))
		static.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
		got, err := s.Variables(t.Context(), static)
		assert.True(t, err == nil && got == nil, "A-ENV-1 of a static pod: %v, error %v", got, err)
		stop()
		n := bytes.Count(log.Bytes(), []byte("\n"))
		assert.True(t, n == 1, "told %d times:\n%s", n, log.String())
	})
}

// TestKept: what an agent has read of the Services the next one knows while the API
// server is away, at once, and no longer than that; a damaged file is as none (A-ENV-1).
func TestKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "of", "lifepod", "services.json")
		pod := podIn("shop", new(true))
		agent := func(client *fake.Clientset) *Services {
			s := assert.Get(NewServices(client, slog.New(slog.DiscardHandler))).Must(t)
			if err := s.Keep(path); err != nil {
				t.Log(err)
			}
			return s
		}
		run := func(s *Services, while func()) {
			defer assert.Runs(t, s.Run)()
			synctest.Wait()
			while()
		}
		away := func() *fake.Clientset {
			client := fake.NewSimpleClientset()
			client.PrependReactor("list", "services", func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, nil, errors.New("no route")
			})
			return client
		}
		var want []criconfig.KeyValue
		first := agent(fake.NewSimpleClientset(clusterServices...))
		run(first, func() {
			var err error
			want, err = first.Variables(t.Context(), pod)
			assert.Require(t, err == nil && len(want) != 0, "variables %v, error %v", want, err)
		})
		second := agent(away())
		run(second, func() {
			begun := time.Now()
			got, err := second.Variables(t.Context(), pod)
			diff := cmp.Diff(want, got)
			assert.True(t, diff == "" && err == nil && time.Since(begun) <= 0, "after %v, error %v (-want +got):\n%s", time.Since(begun), err, diff)
		})
		third := agent(fake.NewSimpleClientset(clusterServices[0]))
		run(third, func() {
			got, err := third.Variables(t.Context(), pod)
			assert.True(t, err == nil && len(got) < len(want), "services that are gone: %v, error %v", got, err)
		})
		assert.Must(t, os.WriteFile(path, []byte("{"), 0o600))
		fourth := agent(away())
		run(fourth, func() {
			assert.ErrorIs(t, errUnread, assert.ErrorOf(fourth.Variables(t.Context(), pod)), "of a damaged file")
		})
	})
}
