package node

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
)

// Events about the Node have its UID once it is known (A-EVT-1).
func TestNodeReference(t *testing.T) {
	c := &cluster{name: "node-1"}
	want := v1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "node-1"}
	assert.Deep(t, "A-EVT-1 before the Node is known", want, c.nodeReference())
	c.nodeUID.Store(types.UID("uid"))
	want.UID = "uid"
	assert.Deep(t, "A-EVT-1 once it is known", want, c.nodeReference())
}
