package e2e

import (
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// unscheduled is a pod that no scheduler takes.
func unscheduled(name, memory string) string {
	spec := strings.Replace(podSpec("exit 0", "schedulerName: none"), "limits: {memory: 32Mi}", memory, 1)
	return podOf(name, spec)
}

// A quota refuses what is too much, a LimitRange what is too big; it gives a limit to
// who has none, and the quota is free again when the pod is gone.
func TestQuotaAndLimitRange(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.create(`
apiVersion: v1
kind: LimitRange
metadata: {name: limits}
spec: {limits: [{type: Container, default: {memory: 48Mi}, defaultRequest: {memory: 16Mi}, max: {memory: 64Mi}}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota}
spec: {hard: {pods: "1", requests.memory: 1Gi}}
`)
	s.wait("quota/quota", "jsonpath={.status.hard.pods}=1")
	s.create(unscheduled("first", ""))
	got := s.kubectl("get", "pod", "first", "-o", "jsonpath={.spec.containers[0].resources.requests.memory} {.spec.containers[0].resources.limits.memory}")
	assert.True(t, got == "16Mi 48Mi", "memory of a pod without limits: %s, want that of the LimitRange", got)
	why := s.refused(unscheduled("second", ""))
	assert.True(t, strings.Contains(why, "exceeded quota: quota, requested: pods=1, used: pods=1, limited: pods=1"), "refused because %s", why)
	why = s.refused(unscheduled("big", "limits: {memory: 65Mi}"))
	assert.True(t, strings.Contains(why, "maximum memory usage per Container is 64Mi, but limit is 65Mi"), "refused because %s", why)
	s.kubectl("delete", "pod", "first")
	s.wait("quota/quota", "jsonpath={.status.used.pods}=0")
	s.create(unscheduled("second", ""))
}

// The restricted level of pod security refuses what is privileged and takes what is not.
func TestPodSecurity(t *testing.T) {
	t.Parallel()
	s := newSpace(t, map[string]string{"pod-security.kubernetes.io/enforce": "restricted"})
	privileged := podOf("privileged", podSpec("exit 0", "  securityContext: {privileged: true}"))
	if why := s.refused(privileged); !strings.Contains(why, `violates PodSecurity "restricted:latest": privileged (container "main" must not set securityContext.privileged=true)`) {
		t.Errorf("refused because %s", why)
	}
	s.create(podOf("harmless", podSpec("exit 0", `  securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
restartPolicy: Never
securityContext: {runAsNonRoot: true, runAsUser: 1000, seccompProfile: {type: RuntimeDefault}}`)))
	end := s.ended("harmless")
	assert.True(t, end.ExitCode == 0, "the pod that was taken ended with %+v", end)
}

// Every namespace has the account and the certificate authority that pods have.
func TestNamespaceContents(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	authority := await(s, "configmaps", "metadata.name=kube-root-ca.crt", "be there", func(*core.ConfigMap) bool { return true })
	assert.True(t, strings.HasPrefix(authority.Data["ca.crt"], "-----BEGIN CERTIFICATE"), "the certificate authority is %q", authority.Data)
	account, err := client.CoreV1().ServiceAccounts(s.name).Get(t.Context(), "default", meta.GetOptions{})
	assert.True(t, err == nil && len(account.Secrets) == 0, "the default account: %+v, %v, want no secrets", account, err)
}
