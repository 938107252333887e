package detach

import (
	"os"
	"testing"

	bootapi "github.com/containerd/containerd/api/runtime/bootstrap/v1"
	"github.com/containerd/containerd/api/types"
	"github.com/containerd/containerd/api/types/runc/options"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lifepod/lifepod/bundle/runtime/internal/must"
)

// What this package can't be is left to upstream, never half done.
func TestWhatIsLeftToUpstream(t *testing.T) {
	const spec = `{"annotations": {"io.kubernetes.cri.sandbox-id": "a"}}`
	plainArgs := []string{"-namespace", "k8s.io", "-address", "/c.sock", "-publish-binary", "/c", "-id", "a", "start"}
	plain := func() *bootapi.BootstrapParams {
		return &bootapi.BootstrapParams{InstanceID: "a", Namespace: "k8s.io", SocketDir: new("/s")}
	}
	inCgroup, err := anypb.New(&options.Options{ShimCgroup: "/shims"})
	must.Succeed(t, err)
	for _, c := range []struct {
		name   string
		args   []string
		spec   string
		change func(p *bootapi.BootstrapParams)
		fits   bool
	}{
		{name: "as usual", fits: true},
		{name: "flag that is new", args: []string{"-new", "start"}},
		{name: "another action", args: append(plainArgs[:len(plainArgs)-1:len(plainArgs)-1], "delete")},
		{name: "another sandbox", change: func(p *bootapi.BootstrapParams) { p.InstanceID = "b" }},
		{name: "another namespace", change: func(p *bootapi.BootstrapParams) { p.Namespace = "b" }},
		{name: "no folder for sockets", change: func(p *bootapi.BootstrapParams) { p.SocketDir = nil }},
		{name: "debugging", change: func(p *bootapi.BootstrapParams) { p.LogLevel = bootapi.LogLevel_LOG_LEVEL_DEBUG }},
		{name: "a cgroup for the shim", change: func(p *bootapi.BootstrapParams) {
			p.Extensions = append(p.Extensions, &bootapi.Extension{Value: inCgroup})
		}},
		{name: "container of a sandbox", spec: `{"annotations": {"io.kubernetes.cri.sandbox-id": "b"}}`},
		{name: "shared shim", spec: `{"annotations": {"io.kubernetes.cri.sandbox-id": "a", "io.containerd.runc.v2.group": "g"}}`},
		{name: "no spec", spec: "-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if c.spec == "" {
				c.spec = spec
			}
			must.Succeed(t, os.WriteFile("config.json", []byte(c.spec), 0o600))
			if c.args == nil {
				c.args = plainArgs
			}
			params := plain()
			if c.change != nil {
				c.change(params)
			}
			input, err := proto.Marshal(params)
			must.Succeed(t, err)
			if _, fits := parse(c.args, input); fits != c.fits {
				t.Errorf("fits: %t, want %t", fits, c.fits)
			}
		})
	}
}

// Containerd has nothing left to ask.
func TestAnswer(t *testing.T) {
	text, err := answer("unix:///s/a")
	must.Succeed(t, err)
	var result bootapi.BootstrapResult
	must.Succeed(t, proto.Unmarshal(text, &result))
	var mounts types.MountCapabilities
	found, err := result.FindExtension(&mounts)
	if err != nil || !found || len(mounts.Types)+len(mounts.Transforms) > 0 || result.Address != "unix:///s/a" {
		t.Errorf("containerd is told %v (%v)", &result, err)
	}
}
