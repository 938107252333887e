package nodeparts

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	config "k8s.io/kubelet/config/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/objects"
)

// background runs f until the test ends.
func background(t *testing.T, f func(context.Context)) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

// made fails the test unless an object was made.
func made[T any](t *testing.T) func(T, error) T {
	return func(object T, err error) T {
		t.Helper()
		assert.Must(t, err)
		return object
	}
}

func namespace(t *testing.T, name string) {
	t.Helper()
	made[*v1.Namespace](t)(admin(t).CoreV1().Namespaces().Create(t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))
}

// A-CRI-13: a class is found as soon as it is there.
func TestRuntimeClass(t *testing.T) {
	t.Parallel()
	classes := objects.NewRuntimeClasses(clientOf(t, nodeName), slog.New(slog.NewTextHandler(t.Output(), nil)))
	background(t, classes.Run)
	_, err := classes.Handler("sandboxed")
	assert.True(t, apierrors.IsNotFound(err), "a class that is not there: %v", err)
	made[*nodev1.RuntimeClass](t)(admin(t).NodeV1().RuntimeClasses().Create(t.Context(), &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "sandboxed"}, Handler: "runsc",
	}, metav1.CreateOptions{}))
	machine.Until(t, "the class", func() bool {
		handler, err := classes.Handler("sandboxed")
		return err == nil && handler == "runsc"
	})
}

// A-IMG-7: a credential provider gets a token of the pod's service account, for
// its audience and bound to the pod (KEP-4412).
func TestProviderToken(t *testing.T) {
	t.Parallel()
	namespace(t, "private")
	allowAudience(t, "registry.example")
	account := made[*v1.ServiceAccount](t)(admin(t).CoreV1().ServiceAccounts("private").Create(t.Context(), &v1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Name: "robot", Annotations: map[string]string{"team": "shop"}},
	}, metav1.CreateOptions{}))
	pod := made[*v1.Pod](t)(admin(t).CoreV1().Pods("private").Create(t.Context(), &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       v1.PodSpec{NodeName: nodeName, ServiceAccountName: "robot", Containers: []v1.Container{{Name: "main", Image: "r.io/app"}}},
	}, metav1.CreateOptions{}))
	client := clientOf(t, nodeName)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	source := objects.New(t.Context(), objects.Options{Client: client, Log: log, Changed: func(types.UID, lifecycle.Because) {}})
	accounts := objects.APIServiceAccounts{Client: client, Tokens: source}
	providers, request := provider(t, accounts, log)
	machine.Until(t, "a login", func() bool { return len(providers.Logins(t.Context(), "r.io/app", pod)) == 1 })
	asked := request()
	assert.True(t, asked.ServiceAccountAnnotations["team"] == "shop", "annotations %v", asked.ServiceAccountAnnotations)
	claims := payload(t, asked.ServiceAccountToken)
	for _, want := range []string{`"aud":["registry.example"]`, `"name":"web","uid":"` + string(pod.UID), `"name":"robot","uid":"` + string(account.UID)} {
		assert.True(t, strings.Contains(claims, want), "the token says %s, want %s in it", claims, want)
	}
}

// allowAudience lets nodes have tokens for an audience that no volume asks for.
func allowAudience(t *testing.T, audience string) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "audience"}
	made[*rbacv1.ClusterRole](t)(admin(t).RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		Verbs: []string{"request-serviceaccounts-token-audience"}, APIGroups: []string{""}, Resources: []string{audience},
	}, {
		Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"serviceaccounts"},
	}}}, metav1.CreateOptions{}))
	made[*rbacv1.ClusterRoleBinding](t)(admin(t).RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "audience"},
		Subjects: []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "system:nodes"}},
	}, metav1.CreateOptions{}))
}

// asked is what a plugin is told.
type asked struct {
	ServiceAccountToken       string
	ServiceAccountAnnotations map[string]string
}

// provider has a plugin that keeps its request.
func provider(t *testing.T, accounts objects.ServiceAccounts, log *slog.Logger) (*objects.CredentialProviders, func() asked) {
	t.Helper()
	dir := t.TempDir()
	const answer = `{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"Image","auth":{"r.io":{"username":"u","password":"p"}}}`
	script := fmt.Sprintf("#!/bin/sh\ncat > %s/request\necho '%s'\n", dir, answer)
	assert.Must(t, os.WriteFile(filepath.Join(dir, "plugin"), []byte(script), 0o700))
	providers := assert.Get(objects.NewCredentialProviders([]config.CredentialProvider{{
		Name: "plugin", APIVersion: "credentialprovider.kubelet.k8s.io/v1", MatchImages: []string{"r.io"}, DefaultCacheDuration: &metav1.Duration{},
		TokenAttributes: &config.ServiceAccountTokenAttributes{
			ServiceAccountTokenAudience: "registry.example", CacheType: "Token", RequireServiceAccount: new(true), RequiredServiceAccountAnnotationKeys: []string{"team"},
		},
	}}, dir, accounts, log)).Must(t)
	return providers, func() (read asked) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, "request"))
		if err == nil {
			err = json.Unmarshal(data, &read)
		}
		assert.Must(t, err)
		return read
	}
}

func payload(t *testing.T, token string) string {
	t.Helper()
	parts := strings.Split(token, ".")
	assert.Require(t, len(parts) == 3, "%q is no token", token)
	data := assert.Get(base64.RawURLEncoding.DecodeString(parts[1])).Must(t)
	return string(data)
}
