package criconfig

import (
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestLabelsEachFile: the mount that a path is on says whether its files have labels of their own
// (A-VOL-2).
func TestLabelsEachFile(t *testing.T) {
	const begin = `1 0 8:1 / / rw - ext4 /dev/a rw,seclabel
2 1 0:2 / /pods/u/labelled rw,relatime - ext4 /dev/b rw,context="system_u:object_r:container_file_t:s0:c1,c2"
3 1 0:3 / /pods/u/each rw,seclabel - xfs /dev/c rw
`
	for name, test := range map[string]struct {
		mounts string
		path   string
		want   bool
	}{
		"of the root":            {begin, "/pods/u/other", true},
		"one label":              {begin, "/pods/u/labelled", false},
		"an option of the mount": {begin, "/pods/u/each", true},
		"covered by another":     {begin + "4 1 0:4 / /pods/u/each rw - nfs server:/ rw\n", "/pods/u/each", false},
		"none":                   {"", "/pods", false},
	} {
		mounts, err := mountinfo.GetMountsFromReader(strings.NewReader(test.mounts), mountinfo.ParentsFilter(test.path))
		assert.Must(t, err)
		assert.Equal(t, test.want, labelsEachFile(mounts), "%s", name)
	}
}

// TestLabels: options that say nothing give no label, nor does a machine without SELinux.
func TestLabels(t *testing.T) {
	for _, options := range []v1.SELinuxOptions{{}, {Level: "s0:c1,c2"}} {
		label, err := SELinuxLabels{}.FileLabel(options)
		if err != nil || (label != "") != (SELinuxEnabled() && options.Level != "") {
			t.Errorf("label of %+v: %q, error %v", options, label, err)
		}
	}
	assert.NoError(t, assert.ErrorOf((SELinuxLabels{}).Relabels(t.TempDir())))
}
