package token

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/cert"

	"github.com/lifepod/lifepod/internal/assert"
)

// cluster is an API server that knows StringData of Secrets.
func cluster(objects ...runtime.Object) *fake.Clientset {
	client := fake.NewClientset(objects...)
	client.PrependReactor("create", "secrets", func(a clienttesting.Action) (bool, runtime.Object, error) {
		s := a.(clienttesting.CreateAction).GetObject().(*v1.Secret)
		s.Data = map[string][]byte{}
		for key, text := range s.StringData {
			s.Data[key] = []byte(text)
		}
		s.StringData = nil
		return false, nil, nil
	})
	return client
}

func config(client *fake.Clientset) Config {
	return Config{Client: client, Server: "https://192.0.2.1:6443", Authority: []byte("PEM"), DNS: []string{"10.43.0.10"}, Domain: "cluster.local"}
}

func writes(client *fake.Clientset) []string {
	var list []string
	for _, a := range client.Actions() {
		if a.GetVerb() != "get" {
			list = append(list, a.GetVerb()+" "+a.GetResource().Resource)
		}
	}
	client.ClearActions()
	return list
}

// TestPrepare: everything is written once; what somebody has changed is put right,
// and what isn't lifepod's stays.
func TestPrepare(t *testing.T) {
	client, ctx := cluster(), t.Context()
	assert.Must(t, Prepare(ctx, config(client)))
	assert.Deep(t, "writes", 17, len(writes(client)))
	assert.Must(t, Prepare(ctx, config(client)))
	got := writes(client)
	assert.True(t, got == nil, "written again: %v", got)
	info, err := client.CoreV1().ConfigMaps("kube-public").Get(ctx, "cluster-info", metav1.GetOptions{})
	assert.Must(t, err)
	info.Data["jws-kubeconfig-abcdef"] = "signature"
	info.Data["kubeconfig"] = "another"
	assert.Must(t, assert.ErrorOf(client.CoreV1().ConfigMaps("kube-public").Update(ctx, info, metav1.UpdateOptions{})))
	assert.Must(t, client.RbacV1().RoleBindings("kube-public").Delete(ctx, clusterInfoRole, metav1.DeleteOptions{}))
	writes(client)
	assert.Must(t, Prepare(ctx, config(client)))
	assert.Deep(t, "", []string{"update configmaps", "create rolebindings"}, writes(client))
	info, err = client.CoreV1().ConfigMaps("kube-public").Get(ctx, "cluster-info", metav1.GetOptions{})
	assert.True(t, err == nil && info.Data["jws-kubeconfig-abcdef"] == "signature" && strings.Contains(info.Data["kubeconfig"], "https://192.0.2.1:6443"),
		"%v, %v", info.Data, err)
}

// TestToken: what is made is what the API server's authenticator and the signer of
// cluster-info look for, and no list shows the secret.
func TestToken(t *testing.T) {
	client, ctx := cluster(), t.Context()
	token := create(ctx, t, client, time.Hour)
	forever := create(ctx, t, client, 0)
	id, secret, _ := strings.Cut(token, ".")
	stored := assert.Get(client.CoreV1().Secrets("kube-system").Get(ctx, "bootstrap-token-"+id, metav1.GetOptions{})).Must(t)
	assert.True(t, stored.Type == "bootstrap.kubernetes.io/token" && string(stored.Data["token-secret"]) == secret, "stored: %v", stored)
	want := []string{"auth-extra-groups", "description", "expiration", "token-id", "token-secret", "usage-bootstrap-authentication", "usage-bootstrap-signing"}
	assert.Deep(t, "", want, slices.Sorted(maps.Keys(stored.Data)))
	list, err := List(ctx, client)
	assert.True(t, err == nil && len(list) == 2 && list[0].ID == id && list[1].Expires.IsZero(), "list: %v, %v", list, err)
	var out strings.Builder
	assert.Must(t, table(&out, list, list[0].Expires.Add(-90*time.Minute)))
	text := out.String()
	assert.True(t, !strings.Contains(text, secret) && strings.Contains(text, "90m") && strings.Contains(text, "forever"), "table:\n%s", text)
	out.Reset()
	err = table(&out, []Token{{ID: id, Description: "\x1b[2J\nabcdef"}}, time.Now())
	assert.True(t, err == nil && strings.Contains(out.String(), "   ^[[2J abcdef\n"), "a description that a terminal would obey: %q, %v", out.String(), err)
	for _, name := range []string{id, forever} {
		assert.NoError(t, Delete(ctx, client, name))
	}
	assert.Error(t, `token ID "nonsense": want 6 characters of a to z and 0 to 9`, Delete(ctx, client, "nonsense"), "nonsense")
	assert.ErrorContains(t, "not found", Delete(ctx, client, id), "deleted twice")
}

// TestInvitation: the command pins each authority of the cluster, since a node that joins
// trusts no other.
func TestInvitation(t *testing.T) {
	var authorities []byte
	var pins string
	for _, name := range []string{"of today", "of tomorrow"} {
		key := assert.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)).Must(t)
		c := assert.Get(cert.NewSelfSignedCACert(cert.Config{CommonName: name}, key)).Must(t)
		authorities = append(authorities, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
		pins += fmt.Sprintf(" --ca-hash sha256:%x", sha256.Sum256(c.RawSubjectPublicKeyInfo))
	}
	client, ctx := cluster(), t.Context()
	c := config(client)
	c.Authority = authorities
	assert.Must(t, Prepare(ctx, c))
	got, err := Invitation(ctx, client, "abcdef.0123456789abcdef")
	want := "echo abcdef.0123456789abcdef | sudo lifepod join https://192.0.2.1:6443" + pins + " --token-file -"
	assert.True(t, err == nil && got == want, "got %q, %v, want %q", got, err, want)
}

func create(ctx context.Context, t *testing.T, client *fake.Clientset, ttl time.Duration) string {
	t.Helper()
	token := assert.Get(Create(ctx, client, ttl, "for a test")).Must(t)
	return token
}
