package agent

import (
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// evict asks for the eviction of a pod.
func (c *cluster) evict(pod string) {
	c.t.Helper()
	eviction := &policy.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: pod}}
	assert.Must(c.t, client.PolicyV1().Evictions(c.namespace).Evict(c.t.Context(), eviction))
}
