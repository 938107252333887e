package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestCopy: files go out of a container and into it, also where its root is nobody outside; what a container has laid out leads nowhere else.
func TestCopy(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string]string{"cp": "", "cp-users": "hostUsers: false\n"} {
		c := shared.startReady(t, pod(name, fields+`
volumes: [{name: v, emptyDir: {}}]
initContainers:
`+shell("side", "ln -s / /v/slash\n"+waiter, mountV+"\nrestartPolicy: Always\nsecurityContext: {runAsUser: 1000, runAsGroup: 2000}")+`
containers:
`+shell("main", "mkdir -p /d/e; echo one > /d/e/f; chmod 755 /d/e/f; ln -s e/f /d/l; ln -s /etc /d/out; ln -s /proc/1/root /magic; echo laid out\n"+waiter, mountV)))
		c.await(c.stdout, "laid out")
		local := t.TempDir()
		mine := filepath.Join(local, "mine")
		assert.Must(t, os.Mkdir(mine, 0o750), os.WriteFile(filepath.Join(mine, "g"), []byte("two"), 0o640), os.Chown(filepath.Join(mine, "g"), 7, 8))
		for _, step := range []struct {
			args, want string
		}{
			{name + ":/d " + local + " -c main", "warning: /d/out is left out: it is a link that leads elsewhere, to /etc\n"},
			{"-c main " + name + ":/magic/etc/hostname " + local, "lifepod: open /magic/etc/hostname: too many levels of symbolic links\n"},
			{"-c main " + name + ":/dev/null " + local, "warning: /dev/null is left out: it is no file, folder or link\n"},
			{"-c main pod/" + name + ":/../../d/e/f " + local + "/x", ""},
			{mine + " " + name + ":/v/slash/v -c side", ""},
			{mine + "/g " + name + ":/d/e/f -c main", ""},
			{mine + "/g " + name + ":/etc/hosts -c main", "lifepod: copy " + mine + "/g: hosts is mounted into the container by itself, and can't be replaced\n"},
			{mine + "/g " + name + ":/none/g -c main", "lifepod: open /none: no such file or directory\n"},
			{mine + " " + local, `lifepod: "` + mine + `" and "` + local + `": one must be a path in a container, POD:PATH, and the other one of this machine (with ./ in front, if it has a colon)` + "\n"},
		} {
			got := shared.lifepod(t, "", append([]string{"cp"}, strings.Fields(step.args)...)...)
			assert.True(t, got.stdout+got.stderr == step.want, "cp %s:\n%s%s, want\n%s", step.args, got.stdout, got.stderr, step.want)
		}
		for path, want := range map[string]string{"d/e/f": "-rwxr-xr-x one\n", "d/l": "-rwxr-xr-x one\n", "x": "-rwxr-xr-x one\n"} {
			info := assert.Get(os.Stat(filepath.Join(local, path))).Must(t)
			text := assert.Get(os.ReadFile(filepath.Join(local, path))).Must(t)
			assert.Deep(t, path, want, info.Mode().String()+" "+string(text))
		}
		inside := shared.lifepod(t, "", "exec", name, "-c", "main", "--", "sh", "-c", "stat -c '%n %u:%g %a' /v/mine /v/mine/g /d/e/f; cat /v/mine/g /d/e/f; ls /d/e")
		assert.Deep(t, "what the container has", "/v/mine 1000:2000 750\n/v/mine/g 1000:2000 640\n/d/e/f 0:0 640\ntwotwof\n", inside.stdout+inside.stderr)
		shared.lifepod(t, "", "stop", "--force", name)
		c.wait()
		got := shared.lifepod(t, "", "cp", name+":/d", local, "-c", "main")
		assert.True(t, strings.Contains(got.stderr, "has ended"), "%+v", got)
	}
}
