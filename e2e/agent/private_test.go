package agent

import (
	"net/http/httptest"
	"strings"
	"testing"

	oci "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/imageregistry"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestPrivateRegistry: an image that nobody may have but those with a password comes by the
// pod's pull secret or its service account's, and by none other.
func TestPrivateRegistry(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	image := c.pushPrivate("secret")
	c.kubectl("create", "secret", "docker-registry", "pull", "--docker-server="+strings.Split(image, "/")[0],
		"--docker-username=me", "--docker-password=secret")
	c.kubectl("create", "serviceaccount", "puller")
	c.kubectl("patch", "serviceaccount", "puller", `--patch={"imagePullSecrets":[{"name":"pull"}]}`)
	manifest := func(name, spec string) string {
		return strings.NewReplacer("NAME", name, "SPEC", spec, "IMAGE", image).Replace(`
metadata: {name: NAME}
spec:
  SPEC
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: IMAGE, imagePullPolicy: Always, command: [sleep, --on-term, "0", "3600"], resources: {limits: {memory: 64Mi}}}
`)
	}
	c.create(manifest("without", "restartPolicy: Always"))
	pod := c.await("without", "to be refused its image", func(pod *v1.Pod) bool {
		s := pod.Status.ContainerStatuses
		return len(s) == 1 && s[0].State.Waiting != nil && s[0].State.Waiting.Reason == "ErrImagePull"
	})
	message := pod.Status.ContainerStatuses[0].State.Waiting.Message
	assert.True(t, strings.Contains(message, "authorization failed"), "why there is no image: %q, want what the registry said", message)
	c.create(manifest("own", "imagePullSecrets: [{name: pull}]"))
	c.awaitReady("own")
	c.create(manifest("by-account", "serviceAccountName: puller"))
	c.awaitReady("by-account")
	event := c.awaitEvent("by-account", v1.EventTypeNormal, "Pulling")
	assert.Deep(t, "event", `Pulling image "`+image+`"`, event.Message)
}

// pushPrivate puts the carried image into a registry on loopback, which is there until the
// test ends and wants a password.
func (c *cluster) pushPrivate(password string) (image string) {
	c.t.Helper()
	server := httptest.NewServer(imageregistry.Private(password))
	c.t.Cleanup(server.Close)
	content, err := imageregistry.Toolbox(c.node.Root.Dir)
	if err == nil { // one that others have not, who might need the password for it then
		content, err = mutate.Config(content, oci.Config{Env: []string{"PATH=/bin"}, Labels: map[string]string{"private": c.namespace}})
	}
	if err == nil {
		image, err = imageregistry.Push(strings.TrimPrefix(server.URL, "http://"), password, "private", content)
	}
	assert.Must(c.t, err)
	return image
}
