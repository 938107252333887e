package nodeparts

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/join"
)

// messages is a log of which single lines can be awaited.
type messages struct {
	mu    sync.Mutex
	lines bytes.Buffer
	added chan struct{}
}

func newMessages() *messages { return &messages{added: make(chan struct{}, 1)} }

func (m *messages) log() *slog.Logger { return slog.New(slog.NewTextHandler(m, nil)) }

func (m *messages) Write(line []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case m.added <- struct{}{}:
	default:
	}
	return m.lines.Write(line)
}

func (m *messages) await(t *testing.T, part string) {
	t.Helper()
	for {
		m.mu.Lock()
		found := strings.Contains(m.lines.String(), part)
		m.mu.Unlock()
		if found {
			return
		}
		select {
		case <-m.added:
		case <-t.Context().Done():
			t.Fatalf("no message %q in:\n%s", part, m.lines.String())
		}
	}
}

// options of a node with folders of its own.
func options(t *testing.T, name string) (join.Options, *messages) {
	t.Helper()
	dir, log := t.TempDir(), newMessages()
	return join.Options{
		Kubeconfig: filepath.Join(dir, "etc", "kubelet.conf"),
		CertDir:    filepath.Join(dir, "pki"),
		NodeName:   name,
		Log:        log.log(),
	}, log
}

// start joins and runs; the function ends it, as a kill would.
func start(t *testing.T, o join.Options) (*join.Connection, func()) {
	t.Helper()
	c := assert.Get(join.Join(o)).Must(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	end := func() { cancel(); <-done }
	t.Cleanup(end)
	return c, end
}

// expectUser asks the API server who the connection is.
func expectUser(t *testing.T, c *join.Connection, want string) {
	t.Helper()
	client := assert.Get(kubernetes.NewForConfig(c.Config)).Must(t)
	answer := assert.Get(client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})).Must(t)
	assert.Deep(t, "the API server knows", want, answer.Status.UserInfo.Username)
}
