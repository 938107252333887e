package agent

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	authentication "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestServiceAccountToken: a pod's token is bound to the pod, for an audience of its own, and
// the API server believes it.
func TestServiceAccountToken(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	c.create(`
metadata: {name: pod}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: TOOLBOX, command: [sleep, --on-term, "0", "3600"], volumeMounts: [{name: token, mountPath: /token}],
     resources: {limits: {memory: 64Mi}}}
  volumes: [{name: token, projected: {sources: [{serviceAccountToken: {path: token, audience: vault, expirationSeconds: 600}}]}}]
`)
	pod := c.awaitReady("pod")
	claims := c.claims("/token/token")
	assert.Deep(t, "audience", []string{"vault"}, claims.Audience)
	assert.True(t, claims.Kubernetes.Pod.UID == string(pod.UID) && claims.Kubernetes.Node.Name == c.node.Name,
		"bound to %+v, want pod %s and node %s", claims.Kubernetes, pod.UID, c.node.Name)
	assert.Deep(t, "seconds it is valid", int64(600), claims.Expires-claims.Issued)
	token := c.kubectl("exec", "pod", "--", "cat", "/var/run/secrets/kubernetes.io/serviceaccount/token")
	access := c.kubectl("exec", "pod", "--", "sh", "-c", "cd /var/run/secrets/kubernetes.io/serviceaccount; cat namespace; echo; head -n 1 ca.crt")
	assert.Deep(t, "what else every pod has", c.namespace+"\n-----BEGIN CERTIFICATE-----\n", access)
	review := assert.Get(client.AuthenticationV1().TokenReviews().Create(t.Context(),
		&authentication.TokenReview{Spec: authentication.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})).Must(t)
	assert.Deep(t, "whom the API server takes the pod for", "system:serviceaccount:"+c.namespace+":default", review.Status.User.Username)
}

// claims are those of a token.
type claims struct {
	Audience   []string `json:"aud"`
	Issued     int64    `json:"iat"`
	Expires    int64    `json:"exp"`
	Kubernetes struct {
		Pod  struct{ UID string }
		Node struct{ Name string }
	} `json:"kubernetes.io"`
}

func (c *cluster) claims(file string) (read claims) {
	c.t.Helper()
	parts := strings.Split(c.kubectl("exec", "pod", "--", "cat", file), ".")
	text, err := base64.RawURLEncoding.DecodeString(parts[len(parts)/2])
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	assert.Require(c.t, err == nil, "token: %v", err)
	return read
}

// TestClaimOnHostPath: a claim's volume is the node's folder, which outlives the pod.
func TestClaimOnHostPath(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	name := c.namespace + "-host"
	c.apply(strings.NewReplacer("CLASS", c.namespace, "VOLUME", name, "DIR", t.TempDir()).Replace(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: VOLUME}
spec:
  {storageClassName: CLASS, accessModes: [ReadWriteOnce], capacity: {storage: 1Mi}, hostPath: {path: DIR}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: CLASS, volumeName: VOLUME, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
`))
	t.Cleanup(func() { c.outsideTest("delete", "persistentvolume", name, "--wait=false") })
	for _, want := range []string{"x\n", "x\nx\n"} {
		c.create(`
metadata: {name: pod}
spec:
  restartPolicy: Never
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, "echo x >> /data/file; cat /data/file"], volumeMounts: [{name: data, mountPath: /data}], resources: {limits: {memory: 64Mi}}}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`)
		c.await("pod", "to its end", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodSucceeded })
		assert.Deep(t, "the file on the volume", want, c.kubectl("logs", "pod"))
		c.delete("pod")
	}
}

// TestNodePorts: a host port leads to the pod, and a pod on the node's network is the node.
func TestNodePorts(t *testing.T) {
	t.Parallel()
	c := newCluster(t, shared)
	for name, spec := range map[string]string{
		"mapped": "hostNetwork: false",
		"host":   "hostNetwork: true",
	} {
		port := assert.Get(machine.FreePort()).Must(t)
		inside := 8080
		if name == "host" {
			inside = port
		}
		c.create(strings.NewReplacer("NAME", name, "SPEC", spec, "HOSTPORT", fmt.Sprint(port), "PORT", fmt.Sprint(inside)).Replace(`
metadata: {name: NAME}
spec:
  SPEC
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: TOOLBOX
    command: [serve, --port, "PORT"]
    ports: [{containerPort: PORT, hostPort: HOSTPORT}]
    readinessProbe: {httpGet: {port: PORT}, periodSeconds: 1}
    resources: {limits: {memory: 64Mi}}
`))
		pod := c.awaitReady(name)
		answer := assert.Get((&http.Client{Timeout: patience}).Get("http://" + net.JoinHostPort(pod.Status.HostIP, fmt.Sprint(port)))).Must(t)
		_, err := io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		assert.True(t, err == nil && answer.StatusCode == http.StatusOK,
			"pod %s answered %s through the node's port, error %v", name, answer.Status, err)
		assert.True(t, (pod.Status.PodIP == pod.Status.HostIP) == (name == "host"),
			"pod %s has address %s on the node %s", name, pod.Status.PodIP, pod.Status.HostIP)
	}
}
