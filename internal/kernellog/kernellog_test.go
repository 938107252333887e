package kernellog

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

// A record that was overwritten is left out, and the end of the log is no error; any other is.
func TestMessages(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		last error
		want error
	}{
		"the end": {unix.EAGAIN, nil},
		"broken":  {broken, broken},
	} {
		t.Run(name, func(t *testing.T) {
			records := []any{"4,1,2,-;one\n KEY=value\n", unix.EPIPE, "6,2,3,-;two", test.last}
			got, err := messages(func(p []byte) (int, error) {
				record := records[0]
				records = records[1:]
				if err, failed := record.(error); failed {
					return -1, err
				}
				return copy(p, record.(string)), nil
			})
			assert.ErrorIs(t, test.want, err)
			assert.Deep(t, "messages", []string{"one", "two"}, got)
		})
	}
}

func TestInContainer(t *testing.T) {
	const (
		ofV1      = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c,mems_allowed=0,oom_memcg=/lifepod/podx/abc,task_memcg=/lifepod/podx/abc,task=python,pid=42,uid=0"
		ofSystemd = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/kubepods.slice/podx.slice,task_memcg=/kubepods.slice/podx.slice/cri-containerd-abc.scope,task=a,b,pid=43,uid=0"
		ofBelow   = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/p/abc,task_memcg=/p/abc/own/group,task=own,pid=44,uid=7"
		ofAll     = "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/p/abc,task=hog,pid=45,uid=0"
		ofOther   = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c,mems_allowed=0,oom_memcg=/p/abcd,task_memcg=/p/abcd,task=other,pid=46,uid=0"
	)
	for name, test := range map[string]struct {
		messages []string
		want     Killed
	}{
		"cgroup v1":                        {[]string{"eth0: link up", ofV1, ofOther}, Killed{"python", 42}},
		"systemd, a name with a comma":     {[]string{ofSystemd}, Killed{"a,b", 43}},
		"a cgroup that the container made": {[]string{ofBelow}, Killed{"own", 44}},
		"all memory is used":               {[]string{ofAll}, Killed{"hog", 45}},
		"the last of several":              {[]string{ofBelow, ofV1}, Killed{"python", 42}},
		"another container":                {[]string{ofOther}, Killed{}},
		"nothing":                          {nil, Killed{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, found := InContainer(test.messages, "abc")
			diff := cmp.Diff(test.want, got)
			assert.True(t, diff == "" && found == (test.want != Killed{}), "found %v (-want +got):\n%s", found, diff)
		})
	}
	_, found := InContainer([]string{ofV1}, "")
	assert.True(t, !found, "no ID is every container's")
}
