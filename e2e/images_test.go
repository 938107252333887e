package e2e

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/lifepod/lifepod/internal/assert"
)

func imagePod(image, policy string) string {
	manifest := pod("image", "restartPolicy: Never\ncontainers:\n- {name: main, image: '"+image+"', imagePullPolicy: "+policy+"}")
	return strings.Replace(manifest, "  name: image\n", "  generateName: image-\n", 1) // there are several at once
}

// TestPullPolicies: who asks the registry, and when.
func TestPullPolicies(t *testing.T) {
	t.Parallel()
	reg := newRegistry(t, "")
	for _, tc := range []struct {
		policy  string
		between bool // the registry has a newer image for the second run
		want    []string
	}{
		{"IfNotPresent", true, []string{"old", "old"}},
		{"Always", true, []string{"old", "new"}},
	} {
		t.Run(tc.policy, func(t *testing.T) {
			path := "policies/" + strings.ToLower(tc.policy)
			image := reg.push(t, path, "old")
			var got []string
			for range 2 {
				r := shared.run(t, imagePod(image, tc.policy))
				assert.Require(t, r.code == 0, "exit code %d\n%s", r.code, r.stderr)
				got = append(got, strings.TrimSpace(r.stdout))
				reg.push(t, path, "new")
			}
			assert.True(t, slices.Equal(got, tc.want), "ran %v, want %v", got, tc.want)
		})
	}
}

// TestPullStory: a pull is reported, as a line and as Kubernetes events.
func TestPullStory(t *testing.T) {
	t.Parallel()
	image := newRegistry(t, "").push(t, "story", "hi")
	got := shared.run(t, imagePod(image, "IfNotPresent"))
	assert.True(t, got.code == 0 && strings.Contains(got.stderr, "main pulling image "+image+"\n") && strings.Contains(got.stderr, "main pulled image "+image+" in "),
		"exit code %d, stderr\n%s", got.code, got.stderr)
	reg := newRegistry(t, "")
	result := shared.runStory(t, 0, imagePod(reg.push(t, "events", "hi"), "Always"))
	reasons := result.reasons("main")
	assert.True(t, slices.Equal(reasons, []string{"Pulling", "Pulled", "Created", "Started"}), "events %v", reasons)
}

// TestNoImage: what isn't there is said, and tried again.
func TestNoImage(t *testing.T) {
	t.Parallel()
	reg := newRegistry(t, "")
	for _, tc := range []struct {
		name, image, policy string
		want                []string // waiting reasons, in order
	}{
		{"never", "registry.example/absent:1", "Never", []string{"ErrImageNeverPull"}},
		{"not-found", reg.host + "/absent:1", "IfNotPresent", []string{"ErrImagePull", "ImagePullBackOff"}},
		{"no-registry", "127.0.0.1:9/absent:1", "Always", []string{"ErrImagePull", "ImagePullBackOff"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := shared.startRun(t, imagePod(tc.image, tc.policy), "-o", "json")
			for _, reason := range tc.want {
				c.await(c.stdout, `"waiting":\{"reason":"`+reason+`"`)
			}
			c.signal(syscall.SIGINT)
			c.wait().wantCode(t, 130)
		})
	}
}

// TestFailFast: with --fail-fast what keeps a container from starting ends the pod,
// with an error that says what; containers that run are stopped.
func TestFailFast(t *testing.T) {
	t.Parallel()
	reg := newRegistry(t, "")
	for _, tc := range []struct{ name, spec, want string }{
		{"never", "containers: [{name: main, image: 'registry.example/absent:1', imagePullPolicy: Never}]", "main ErrImageNeverPull"},
		{"not-found", "initContainers:\n- {name: proxy, image: TOOLBOX, restartPolicy: Always, command: [sleep, infinity]}\n" +
			"containers: [{name: main, image: '" + reg.host + "/absent:1'}]", "main ErrImagePull"},
		{"root", "securityContext: {runAsNonRoot: true}\ncontainers: [{name: main, image: TOOLBOX}]", "main CreateContainerConfigError"},
		{"volume", "volumes: [{name: v, hostPath: {path: /no/such/folder, type: Directory}}]\n" +
			"containers: [{name: main, image: TOOLBOX, volumeMounts: [{name: v, mountPath: /v}]}]", "hostPath type check failed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := shared.run(t, pod("fast-"+tc.name, tc.spec), "--fail-fast")
			last := got.stderr[strings.LastIndex(strings.TrimSpace(got.stderr), "\n")+1:]
			assert.True(t, got.code == 125 && strings.HasPrefix(last, "lifepod: pod default/fast-"+tc.name+" can't start: ") && strings.Contains(last, tc.want),
				"exit code %d\n%s", got.code, got.stderr)
		})
	}
}

// TestPullSecret: a registry that wants a password gets the pod's pull secret;
// with a wrong one, none of the image is had, even if it is there already.
func TestPullSecret(t *testing.T) {
	t.Parallel()
	reg := newRegistry(t, "right")
	image := reg.push(t, "private", "let in")
	spec := "restartPolicy: Never\nimagePullSecrets: [{name: pull}]\ncontainers:\n- {name: main, image: '" + image + "', imagePullPolicy: Always}"
	result := shared.runStory(t, 124, reg.pullSecret("pull", "wrong")+pod("refused", spec), "--timeout", "2s")
	c := containerNamed(t, result.statuses()[len(result.statuses())-2], "main")
	assert.True(t, c.ContainerID == "", "main: %+v", c)
	shared.run(t, reg.pullSecret("pull", "right")+pod("admitted", spec)).want(t, 0, "let in\n")
}

// TestParallelPulls: the images of one pod are pulled at the same time, and the
// sandbox doesn't wait for them.
func TestParallelPulls(t *testing.T) {
	t.Parallel()
	reg := newRegistry(t, "")
	one, two := reg.push(t, "one", "1"), reg.push(t, "two", "2")
	release := reg.holdBack()
	defer release()
	c := shared.startRun(t, pod("two-images", `
restartPolicy: Never
containers:
- {name: one, image: '`+one+`'}
- {name: two, image: '`+two+`'}`))
	c.await(c.stderr, "sandbox ready")
	for range 2 {
		<-reg.held // containerd asks for the config or a layer of each
	}
	assert.True(t, reg.asked("one") != 0 && reg.asked("two") != 0, "asked for one %d times, for two %d times", reg.asked("one"), reg.asked("two"))
	release()
	c.wait().wantCode(t, 0)
}

// TestInterruptDuringPull gives the pull up at once.
func TestInterruptDuringPull(t *testing.T) {
	t.Parallel()
	reg := newRegistry(t, "")
	image := reg.push(t, "slow", "x")
	release := reg.holdBack()
	defer release()
	c := shared.startRun(t, imagePod(image, "Always"))
	<-reg.held
	c.signal(syscall.SIGINT)
	got := c.wait()
	assert.True(t, got.code == 130 && !strings.Contains(got.stderr, "started"), "exit code %d\n%s", got.code, got.stderr)
}

// TestImageCommands: load, ls, pull and rm.
func TestImageCommands(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	const loaded = "example.org/loaded:7"
	tag := assert.Get(name.NewTag(loaded)).Must(t)
	archive := filepath.Join(t.TempDir(), "image.tar")
	assert.Must(t, tarball.WriteToFile(archive, tag, carriedToolbox(t)))
	r.lifepod(t, "", "image", "load", archive).want(t, 0, loaded+"\n")
	data := assert.Get(os.ReadFile(archive)).Must(t)
	r.lifepod(t, string(data), "image", "load", "-").want(t, 0, loaded+"\n")
	pulled := newRegistry(t, "").push(t, "pulled", "x")
	r.lifepod(t, "", "image", "pull", pulled).want(t, 0, pulled+"\n")
	r.run(t, imagePod(pulled, "Never")).want(t, 0, "x\n")
	want := []string{"lifepod.dev/pause:1", toolbox, loaded, pulled}
	got := r.listImages(t)
	assert.True(t, sameSet(got, want), "images %v, want %v", got, want)
	user := r.startReady(t, pod("user", "containers:\n"+shell("main", waiter)))
	if got := r.lifepod(t, "", "image", "rm", toolbox); got.code != 125 || !strings.Contains(got.stderr, "it is used by container main of pod default/user") {
		t.Errorf("rm of an image in use: exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
	r.lifepod(t, "", "image", "rm", loaded, pulled).want(t, 0, loaded+"\n"+pulled+"\n")
	want = []string{"lifepod.dev/pause:1", toolbox} // of which loaded was another name
	got = r.listImages(t)
	assert.True(t, sameSet(got, want), "images after rm: %v, want %v", got, want)
	const own, latest = "localhost/own:1", "localhost/own:latest"
	r.lifepod(t, "", "image", "tag", toolbox, own, "localhost/own").want(t, 0, own+"\n"+latest+"\n")
	r.lifepod(t, "", "image", "save", "-o", archive, own, "localhost/own").want(t, 0, "")
	r.lifepod(t, "", "image", "rm", own, latest).want(t, 0, own+"\n"+latest+"\n")
	r.lifepod(t, "", "image", "load", archive).want(t, 0, own+"\n"+latest+"\n")
	for args, says := range map[string]string{
		"inspect own":                     `lifepod: inspect image "own": image not found: it is here as ` + latest + "\n",
		"tag x:1 y":                       `lifepod: tag image "x:1": image not found` + "\n",
		"save -o " + t.TempDir() + " x:1": `lifepod: save image "x:1": image not found` + "\n",
	} {
		assert.Deep(t, args, says, r.lifepod(t, "", append([]string{"image"}, strings.Fields(args)...)...).stderr)
	}
	if got := r.lifepod(t, "", "image", "inspect", own); got.code != 0 || !strings.Contains(got.stdout, `"Architecture": "`+runtime.GOARCH+`"`) {
		t.Errorf("%+v", got)
	}
	if got := r.run(t, imagePod("own:1", "Never"), "--fail-fast"); !strings.Contains(got.stderr, "(it is here as "+own+": name it so)") {
		t.Errorf("%+v", got)
	}
	if got := r.run(t, pod("latest", "restartPolicy: Never\ncontainers: [{name: main, image: localhost/own}]"), "--fail-fast"); !strings.Contains(
		got.stderr, "warning: main: lifepod run --pull never uses the image that is here\n") {
		t.Errorf("%+v", got)
	}
	r.checkWhy(t, "latest", `main never started; at TIME: ErrImagePull: .* \(the image is here, but imagePullPolicy is Always, the default for the tag latest: set IfNotPresent to use it\)\.`)
	mounts := pod("mounts", `restartPolicy: Never
volumes: [{name: v, image: {reference: localhost/own, pullPolicy: Always}}]
containers: [{name: main, image: localhost/own, imagePullPolicy: IfNotPresent, command: [ls, /v/bin/true], volumeMounts: [{name: v, mountPath: /v}]}]`)
	if got := r.run(t, mounts, "--fail-fast"); !strings.Contains(got.stderr, "warning: volume v: lifepod run --pull never uses the image that is here\n") {
		t.Errorf("%+v", got)
	}
	r.run(t, mounts, "--pull", "never").want(t, 0, "true\n")
	r.lifepod(t, "", "image", "prune", "-a").want(t, 0, "") // it is in use by another name
	user.signal(syscall.SIGINT)
	user.wait()
	if got := r.lifepod(t, "", "image", "prune", "-a"); !strings.Contains(got.stdout, own+"\n") {
		t.Errorf("%+v", got)
	}
	if got := r.lifepod(t, "", "image", "rm", loaded); got.code != 125 || !strings.Contains(got.stderr, loaded) {
		t.Errorf("rm of what isn't there: exit code %d\n%s", got.code, got.stderr)
	}
}

// listImages are the names that image ls prints.
func (r *root) listImages(t *testing.T) []string {
	t.Helper()
	got := r.lifepod(t, "", "image", "ls")
	assert.Require(t, got.code == 0, "exit code %d\n%s", got.code, got.stderr)
	var names []string
	for line := range strings.Lines(got.stdout) {
		if f := strings.Fields(line); f[0] != "IMAGE" {
			names = append(names, f[0]+":"+f[1])
		}
	}
	return names
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
