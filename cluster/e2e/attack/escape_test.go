//go:build attack

package attack

import (
	"bytes"
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/e2e/imageregistry"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestEscapes: a container with a container's default rights, and one without a seccomp filter, can't leave. There is a pod
// with a port of the host, and something listens on the machine's 127.0.0.1.
func TestEscapes(t *testing.T) {
	ctx := t.Context()
	image := escapeImage(t)
	listener := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	defer func() { _ = listener.Close() }()
	seen := watchPods(ctx, others)
	mapped := pod()
	mapped.Namespace, mapped.Spec.Containers[0].Ports = others, []v1.ContainerPort{{ContainerPort: 80, HostPort: 30080}}
	mapped.Spec.ActiveDeadlineSeconds = nil // it is there until the end
	made := assert.Get(create(ctx, admin, mapped)).Must(t)
	assert.Must(t, seen.until(ctx, func(p *podState) bool { return p.ready }, made.(*v1.Pod).UID))
	before := assert.Get(here.state()).Must(t)
	_, local, _ := net.SplitHostPort(listener.Addr().String())
	for _, seccomp := range []v1.SeccompProfileType{"", v1.SeccompProfileTypeUnconfined} {
		volume := assert.Get(create(ctx, admin, block())).Must(t)
		p := pod()
		p.Namespace, p.Spec.NodeName = others, ""
		p.Spec.Volumes[0].VolumeSource = v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: volume.(*v1.PersistentVolumeClaim).Name}}
		main := &p.Spec.Containers[0]
		root, address := int64(0), gatewayAddress(t)
		main.Image, main.Command, main.VolumeMounts = image, nil, nil
		main.VolumeDevices = []v1.VolumeDevice{{Name: "v", DevicePath: "/dev/volume"}}
		main.Args = []string{"-device", "/dev/volume", "-local", local, "-gateway", address}
		main.SecurityContext = &v1.SecurityContext{RunAsUser: &root}
		if seccomp != "" {
			main.Args = append(main.Args, "-unconfined")
			main.SecurityContext.SeccompProfile = &v1.SeccompProfile{Type: seccomp}
		}
		escape(ctx, t, seen, p)
		assert.NoError(t, remove(ctx, volume))
	}
	assert.Empty(t, compare(ctx, t, &before), "the machine has changed")
	assert.NoError(t, remove(ctx, made))
}

func escape(ctx context.Context, t *testing.T, seen *seenPods, p *v1.Pod) {
	t.Helper()
	made := assert.Get(create(ctx, admin, p)).Must(t)
	p = made.(*v1.Pod)
	assert.Must(t, seen.until(ctx, func(p *podState) bool { return p.ended }, p.UID))
	log := assert.Get(admin.CoreV1().Pods(p.Namespace).GetLogs(p.Name, &v1.PodLogOptions{}).DoRaw(ctx)).Must(t)
	ended := assert.Get(admin.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})).Must(t)
	refused := bytes.Count(log, []byte("\nrefused "))
	assert.True(t, ended.Status.Phase == v1.PodSucceeded && refused >= 30,
		"%s: %s %s\n%s", p.Spec.Containers[0].Args, ended.Status.Phase, ended.Status.Message, log)
	t.Logf("%d escapes refused", refused)
	assert.Must(t, remove(ctx, p))
	assert.Must(t, seen.until(ctx, func(p *podState) bool { return p.gone }, p.UID))
}

// block is a claim of a raw block volume.
func block() *v1.PersistentVolumeClaim {
	mode := v1.PersistentVolumeBlock
	c := &v1.PersistentVolumeClaim{ObjectMeta: *named.DeepCopy(), Spec: *claim.DeepCopy()}
	c.Namespace, c.Spec.VolumeMode = others, &mode
	return c
}

// escapeImage is an image of the program, which the node has pulled from a registry until the test ends.
func escapeImage(t *testing.T) string {
	t.Helper()
	program := assert.Get(os.ReadFile(filepath.Join(filepath.Dir(up.Program), "escape"))).Must(t)
	content := assert.Get(imageregistry.Program("escape", program)).Must(t)
	listener := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	registry := imageregistry.Serve(listener)
	t.Cleanup(func() { _ = registry.Close() })
	image := assert.Get(registry.Push("escape", content)).Must(t)
	return image
}

// gatewayAddress is where pods reach the API server at their bridge.
func gatewayAddress(t *testing.T) string {
	t.Helper()
	bridge := assert.Get(net.InterfaceByName(machine.Root{Dir: up.Root}.Bridge())).Must(t)
	addresses, err := bridge.Addrs()
	if err != nil || len(addresses) == 0 {
		t.Fatal(addresses, err)
	}
	config := assert.Get(up.RESTConfig()).Must(t)
	server := assert.Get(url.Parse(config.Host)).Must(t)
	return net.JoinHostPort(addresses[0].(*net.IPNet).IP.String(), server.Port())
}
