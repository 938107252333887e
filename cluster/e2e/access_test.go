package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/internal/assert"
)

// bearer is a client that has nothing but a token.
func bearer(t *testing.T, token string) kubernetes.Interface {
	t.Helper()
	config := assert.Get(up.RESTConfig()).Must(t)
	config.BearerToken = token
	config.CertData, config.KeyData, config.CertFile, config.KeyFile = nil, nil, "", ""
	made := assert.Get(kubernetes.NewForConfig(config)).Must(t)
	return made
}

// Who is called what, with a token.
func whoAmI(ctx context.Context, t *testing.T, token string) string {
	t.Helper()
	review := assert.Get(bearer(t, token).AuthenticationV1().SelfSubjectReviews().Create(ctx, &authentication.SelfSubjectReview{}, meta.CreateOptions{})).Must(t)
	return review.Status.UserInfo.Username
}

// A service account may do what its role says and nothing else, and neither may who
// is nobody.
func TestDenial(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.kubectl("create", "serviceaccount", "reader")
	s.kubectl("create", "role", "reader", "--verb=list", "--resource=pods")
	s.kubectl("create", "rolebinding", "reader", "--role=reader", "--serviceaccount="+s.name+":reader")
	reader := bearer(t, s.kubectl("create", "token", "reader"))
	s.until("list pods as the role allows", func() error {
		_, err := reader.CoreV1().Pods(s.name).List(t.Context(), meta.ListOptions{})
		return err
	})
	user := "system:serviceaccount:" + s.name + ":reader"
	want := fmt.Sprintf(`secrets is forbidden: User "%s" cannot list resource "secrets" in API group "" in the namespace "%s"`, user, s.name)
	_, err := reader.CoreV1().Secrets(s.name).List(t.Context(), meta.ListOptions{})
	assert.True(t, apierrors.IsForbidden(err) && err.Error() == want, "list secrets: %v, want %s", err, want)
	assert.Deep(t, "can-i list pods", "yes", s.kubectl("auth", "can-i", "list", "pods", "--as="+user))
	got, err := s.try("", "auth", "can-i", "list", "secrets", "--as="+user)
	assert.True(t, got == "no" && err != nil, "can-i list secrets: %s, %v, want no and an exit code", got, err)
	_, err = bearer(t, "").CoreV1().Pods(s.name).List(t.Context(), meta.ListOptions{})
	assert.True(t, apierrors.IsForbidden(err), "anonymous: %v, want forbidden", err)
	_, err = bearer(t, "none").CoreV1().Pods(s.name).List(t.Context(), meta.ListOptions{})
	assert.True(t, apierrors.IsUnauthorized(err), "with a token of nobody: %v, want unauthorized", err)
}

// A Secret for a service account gets its token, and the token ends with the account.
func TestTokenSecret(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.kubectl("create", "serviceaccount", "robot")
	s.create(`
apiVersion: v1
kind: Secret
metadata: {name: robot, annotations: {kubernetes.io/service-account.name: robot}}
type: kubernetes.io/service-account-token
`)
	secret := await(s, "secrets", "metadata.name=robot", "have a token", func(secret *core.Secret) bool {
		return len(secret.Data[core.ServiceAccountTokenKey]) > 0
	})
	if string(secret.Data[core.ServiceAccountNamespaceKey]) != s.name || !strings.HasPrefix(string(secret.Data[core.ServiceAccountRootCAKey]), "-----BEGIN CERTIFICATE") {
		t.Errorf("namespace %q and CA %q of the secret", secret.Data[core.ServiceAccountNamespaceKey], secret.Data[core.ServiceAccountRootCAKey])
	}
	token := string(secret.Data[core.ServiceAccountTokenKey])
	// The API server compares it with the Secret in its cache, which may not have it yet.
	s.until("be accepted", func() error {
		_, err := bearer(t, token).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authentication.SelfSubjectReview{}, meta.CreateOptions{})
		return err
	})
	assert.Deep(t, "who has the token", "system:serviceaccount:"+s.name+":robot", whoAmI(t.Context(), t, token))
	s.kubectl("delete", "serviceaccount", "robot")
	s.wait("secret/robot", "delete")
}

// A pod's projected token is for its audience only and says which pod has it.
func TestProjectedToken(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.create(podOf("holder", podSpec("cat /token/token > /dev/termination-log", `  volumeMounts: [{name: token, mountPath: /token}]
restartPolicy: Never
volumes: [{name: token, projected: {sources: [{serviceAccountToken: {audience: vault, path: token, expirationSeconds: 600}}]}}]`)))
	token := s.ended("holder").Message
	for audience, want := range map[string]bool{"vault": true, "other": false} {
		review := assert.Get(client.AuthenticationV1().TokenReviews().Create(t.Context(),
			&authentication.TokenReview{Spec: authentication.TokenReviewSpec{Token: token, Audiences: []string{audience}}}, meta.CreateOptions{})).Must(t)
		status := review.Status
		assert.True(t, status.Authenticated == want && (!want || strings.Join(status.User.Extra["authentication.kubernetes.io/pod-name"], "") == "holder"),
			"for %s: %+v, want authenticated %v as the pod", audience, status, want)
	}
}
