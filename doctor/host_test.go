package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/assert"
)

// fakeSystem answers as told; its zero value is a root with nothing installed.
type fakeSystem struct {
	release    string
	user       bool
	programs   string
	fileSystem FileSystem
	now        time.Time
	overlay    error
	bridge     error
	nat        map[string]error
	listings   map[string]string
}

func (f fakeSystem) KernelRelease() string { return f.release }
func (f fakeSystem) IsRoot() bool          { return !f.user }
func (f fakeSystem) LookPath(program string) error {
	if strings.Contains(f.programs, program) {
		return nil
	}
	return errors.New("not found")
}
func (f fakeSystem) FileSystem(path string) (FileSystem, error) {
	if f.fileSystem.SizeBytes == 0 {
		return FileSystem{}, errors.New("no such file")
	}
	return f.fileSystem, nil
}
func (f fakeSystem) Now() time.Time          { return f.now }
func (f fakeSystem) TryOverlay(string) error { return f.overlay }
func (f fakeSystem) TryBridge() error        { return f.bridge }
func (f fakeSystem) Listing(program string, arguments ...string) (string, error) {
	text, there := f.listings[program+" "+strings.Join(arguments, " ")]
	if !there {
		return "", errors.New("not found")
	}
	return text, nil
}
func (f fakeSystem) TryNAT(p string) error { return f.nat[p] }

// hostWith has files with the given texts, paths without the first slash.
func hostWith(system fakeSystem, files map[string]string) Host {
	all := fstest.MapFS{}
	for path, text := range files {
		all[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return Host{Files: all, System: system}
}

// Nothing needs crun: whatever is wrong with it is told, and is no reason to fail.
func TestCrun(t *testing.T) {
	answer := func(c bundle.InstalledCrun, err error) Options {
		return Options{Crun: func(context.Context) (bundle.InstalledCrun, error) { return c, err }}
	}
	for want, tc := range map[string]struct {
		system  fakeSystem
		options Options
	}{
		"crun: ok: not installed; lifepod makes containers with the runc that it carries": {options: answer(bundle.InstalledCrun{}, bundle.ErrNoCrun)},
		"crun: ok: not for --runtime crun: crun 1.8.1 is too old; lifepod makes containers with the runc that it carries": {
			options: answer(bundle.InstalledCrun{}, errors.New("crun 1.8.1 is too old")),
		},
		"crun: ok: version 1.21 can make containers here, for less CPU than runc takes: --runtime crun": {
			options: answer(bundle.InstalledCrun{Path: "/usr/bin/crun", Version: "1.21"}, nil),
		},
		"crun: not checked: only root can try": {system: fakeSystem{user: true}, options: answer(bundle.InstalledCrun{}, nil)},
	} {
		assert.Equal(t, want, verdict(checkCrun(t.Context(), hostWith(tc.system, nil), tc.options)), "verdict")
	}
}

func TestForward(t *testing.T) {
	const docker = "-P INPUT ACCEPT\n-P FORWARD DROP\n-N DOCKER\n-N DOCKER-USER\n-A FORWARD -j DOCKER-USER\n" +
		"-A FORWARD -i docker0 -o docker0 -j ACCEPT\n-A DOCKER-USER -j RETURN\n"
	const nftDrop = "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy drop;\n\t}\n" +
		"\tchain forward {\n\t\ttype filter hook forward priority filter; policy drop;\n\t}\n}\n"
	const nftOfIptables = "table ip filter {\n\tchain FORWARD {\n\t\ttype filter hook forward priority filter; policy drop;\n\t}\n}\n"
	allowed := func(chain string) string {
		return "iptables -I " + chain + " -i lifepod0 -j ACCEPT; iptables -I " + chain + " -o lifepod0 -j ACCEPT"
	}
	for _, c := range []struct {
		name     string
		listings map[string]string
		user     bool
		status   Status
		advice   string
	}{
		{"open", map[string]string{"iptables -w -S": "-P FORWARD ACCEPT\n"}, false, OK, ""},
		{"docker", map[string]string{"iptables -w -S": docker}, false, Warning, allowed("DOCKER-USER")},
		{"docker, seen by nft too", map[string]string{"iptables -w -S": docker, "nft list chains": nftOfIptables}, false, Warning, allowed("DOCKER-USER")},
		{"docker, allowed", map[string]string{"iptables -w -S": docker + "-A DOCKER-USER -i lifepod0 -j ACCEPT\n"}, false, OK, ""},
		{"another bridge allowed", map[string]string{"iptables -w -S": "-P FORWARD DROP\n-A FORWARD -i lifepod01 -j ACCEPT\n"}, false, Warning, allowed("FORWARD")},
		{"rejects at the end", map[string]string{"iptables -w -S": "-P FORWARD ACCEPT\n-A FORWARD -j REJECT --reject-with icmp-host-prohibited\n"}, false, Warning, allowed("FORWARD")},
		{"nft drops", map[string]string{"nft list chains": nftDrop, "nft list chain inet filter forward": nftDrop}, false, Warning,
			"nft insert rule inet filter forward iifname lifepod0 accept; nft insert rule inet filter forward oifname lifepod0 accept"},
		{"nft, allowed", map[string]string{"nft list chains": nftDrop, "nft list chain inet filter forward": `iifname "lifepod0" accept`}, false, OK, ""},
		{"neither", nil, false, NotChecked, ""},
		{"user", map[string]string{"iptables -w -S": docker}, true, NotChecked, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := checkForward(hostWith(fakeSystem{user: c.user, listings: c.listings}, nil), "lifepod0")
			advice := ""
			if len(got.Advice) > 0 {
				advice = got.Advice[len(got.Advice)-1]
			}
			assert.True(t, got.Status == c.status && len(got.Advice) <= 2, "want %s, got %+v", c.status, got)
			assert.Deep(t, "advice", c.advice, advice)
		})
	}
}
