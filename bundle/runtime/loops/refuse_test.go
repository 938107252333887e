//go:build cgo && seccomp

package loops

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/opencontainers/runc/libcontainer/seccomp"
	"github.com/opencontainers/runc/libcontainer/specconv"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

const specVariable = "LOOPS_TEST_SPEC"

// asked are requests of ioctl(2), which this program makes on no file when it is a container's process.
var asked = map[string]uintptr{
	"LOOP_CLR_FD": unix.LOOP_CLR_FD, "LOOP_SET_STATUS64": unix.LOOP_SET_STATUS64, "LOOP_CHANGE_FD": 0x4c06, "LOOP_CONFIGURE": unix.LOOP_CONFIGURE,
	"LOOP_CLR_FD beside higher bits": 1<<32 | unix.LOOP_CLR_FD,
	"TCGETS":                         unix.TCGETS, "BLKGETSIZE64": unix.BLKGETSIZE64, "0x4b01": 0x4b01, "0x4d01": 0x4d01, "0x14c01": 0x14c01,
}

// This program is what becomes a container's process, too.
func TestMain(m *testing.M) {
	if path := os.Getenv(specVariable); path != "" {
		if err := attack(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func attack(path string) error {
	runtime.LockOSThread()
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var spec specs.Spec
	if err := json.Unmarshal(text, &spec); err != nil {
		return err
	}
	config, err := specconv.SetupSeccomp(spec.Linux.Seccomp)
	if err != nil {
		return err
	}
	if config != nil {
		if _, err := seccomp.InitSeccomp(config); err != nil {
			return err
		}
	}
	for name, request := range asked {
		_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, ^uintptr(0), request, 0)
		fmt.Println(name + ": " + unix.ErrnoName(errno))
	}
	return nil
}

// carriedOut are the requests that are carried out for a container with a profile and devices: they find no file.
func carriedOut(t *testing.T, profile *specs.LinuxSeccomp, devices []specs.LinuxDevice, allowed ...specs.LinuxDeviceCgroup) map[string]bool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	text := assert.Get(json.Marshal(specs.Spec{Linux: &specs.Linux{Seccomp: profile, Devices: devices, Resources: &specs.LinuxResources{Devices: allowed}}})).Must(t)
	assert.Must(t, os.WriteFile(path, text, 0o600))
	assert.Must(t, confine(path))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), specVariable+"="+path)
	out, err := cmd.CombinedOutput()
	assert.Require(t, err == nil, "%v: %s", err, out)
	done := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		name, errno, _ := strings.Cut(strings.TrimSpace(line), ": ")
		done[name] = errno == "EBADF"
	}
	return done
}

var loop = []specs.LinuxDevice{{Path: "/dev/blk", Type: "b", Major: 7, Minor: 8193}}

func permit(args ...specs.LinuxSeccompArg) specs.LinuxSyscall {
	return specs.LinuxSyscall{Names: []string{"ioctl"}, Action: specs.ActAllow, Args: args}
}

func request(op specs.LinuxSeccompOperator, value, two uint64) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{Index: 1, Op: op, Value: value, ValueTwo: two}
}

// only is containerd's profile with other rules for ioctl.
func only(rules ...specs.LinuxSyscall) *specs.LinuxSeccomp {
	profile := defaultProfile()
	for i := range profile.Syscalls {
		profile.Syscalls[i].Names = strings.Fields(strings.ReplaceAll(" "+strings.Join(profile.Syscalls[i].Names, "  ")+" ", " ioctl ", ""))
	}
	profile.Syscalls = append(profile.Syscalls, rules...)
	return profile
}

// Of a container with a loop device no request to the loop driver is carried out, with any profile, and all others are
// that the profile permits.
func TestLoopRequestsAreRefused(t *testing.T) {
	all := []string{"TCGETS", "BLKGETSIZE64", "0x4b01", "0x4d01", "0x14c01"}
	for name, test := range map[string]struct {
		profile *specs.LinuxSeccomp
		want    []string
	}{
		"Unconfined":                {nil, all},
		"RuntimeDefault":            {defaultProfile(), all},
		"one that logs":             {&specs.LinuxSeccomp{DefaultAction: specs.ActLog}, all},
		"one that logs ioctl":       {&specs.LinuxSeccomp{DefaultAction: specs.ActAllow, Syscalls: []specs.LinuxSyscall{{Names: []string{"ioctl"}, Action: specs.ActLog}}}, all},
		"one that refuses ioctl":    {only(), nil},
		"one for all of a file":     {only(permit(specs.LinuxSeccompArg{Index: 0, Op: specs.OpNotEqual, Value: 7})), all},
		"one for a request":         {only(permit(request(specs.OpEqualTo, unix.TCGETS, 0)), permit(request(specs.OpEqualTo, unix.LOOP_CLR_FD, 0))), []string{"TCGETS"}},
		"one below a mask":          {only(permit(request(specs.OpMaskedEqual, 0xff, 0x01))), []string{"TCGETS", "0x4b01", "0x4d01", "0x14c01"}},
		"one for a range":           {only(permit(request(specs.OpGreaterEqual, 0, 0))), nil},
		"one for either of several": {only(permit(request(specs.OpEqualTo, unix.TCGETS, 0), request(specs.OpEqualTo, unix.LOOP_CLR_FD, 0))), nil},
	} {
		got, want := carriedOut(t, test.profile, loop), map[string]bool{}
		for _, request := range test.want {
			want[request] = true
		}
		for request := range asked {
			if got[request] != want[request] {
				t.Errorf("profile %s: %s is carried out: %v, want %v", name, request, got[request], want[request])
			}
		}
	}
}

// Containers without a loop device, and those that have all devices, keep their profile.
func TestOtherContainersAreAsTheyWere(t *testing.T) {
	for name, got := range map[string]map[string]bool{
		"another device": carriedOut(t, nil, []specs.LinuxDevice{{Path: "/dev/blk", Type: "b", Major: 8, Minor: 1}, {Path: "/dev/vcs", Type: "c", Major: 7}}),
		"all devices":    carriedOut(t, nil, loop, specs.LinuxDeviceCgroup{Allow: true, Access: "rwm"}),
	} {
		assert.True(t, got["LOOP_CLR_FD"], "a container with %s is refused the loop driver's requests", name)
	}
	if got := carriedOut(t, nil, loop, specs.LinuxDeviceCgroup{Access: "rwm"}); got["LOOP_CLR_FD"] {
		t.Error("a rule that allows nothing counts as one that allows all")
	}
}
