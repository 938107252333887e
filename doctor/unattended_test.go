package doctor_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/unattended"
)

// TestNotices: however many pods a command has left, one line is about them.
func TestNotices(t *testing.T) {
	of := func(command, name string) unattended.Pod {
		return unattended.Pod{Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}, Command: command, Root: "/r", Runs: true}
	}
	list := []unattended.Pod{of(unattended.Run, "a")}
	for i := range 7 {
		list = append(list, of(unattended.Up, fmt.Sprintf("web-%d", i)))
	}
	want := []string{
		"pod n/a is unattended: its lifepod run was killed: run the same manifests again to resume it, or `lifepod --root /r stop n/a` to end it",
		"7 pods are unattended, because their lifepod up does not run (n/web-0, n/web-1, n/web-2, n/web-3, n/web-4, 2 more): start it again to resume them, or `lifepod --root /r down` to end all pods of this state folder",
	}
	assert.Deep(t, "lines", want, unattended.Notices(list))
}
