// Package images makes the images that critest pulls, and serves them in a registry.
package images

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/lifepod/lifepod/e2e/imageregistry"
)

// image is one that tests pull, by its names without their registry.
type image struct {
	names  []string
	config v1.Config
	layers []v1.Layer
}

type Parts struct {
	Busybox string // a program
	Nginx   string // an archive of a Debian with nginx
}

// Serve serves the tests' images at the listener, and has the runtime of root take them from
// there, whatever registry their names have.
func Serve(listener net.Listener, root string, p Parts) (closeAll func() error, err error) {
	served := imageregistry.Serve(listener)
	all, err := p.images()
	for _, one := range all {
		err = errors.Join(err, imageregistry.PushAll(listener.Addr().String(), one.names, one.config, one.layers...))
	}
	if err == nil {
		err = useRegistry(root, listener.Addr().String())
	}
	if err != nil {
		return nil, errors.Join(err, served.Close())
	}
	return served.Close, nil
}

// useRegistry configures containerd, which asks at _default for what no other folder is for.
func useRegistry(root, host string) error {
	dir := filepath.Join(root, "certs.d", "_default")
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as users make it
		return err
	}
	return os.WriteFile(filepath.Join(dir, "hosts.toml"), fmt.Appendf(nil, "[host.\"http://%s\"]\ncapabilities = [\"pull\", \"resolve\"]\n", host), 0o600)
}

// Where images of the same names are pulled from; here all are one registry.
const (
	e2eImages = "e2e-test-images/"
	criImages = "k8s-staging-cri-tools/"
)

// images are those that the tests name.
func (p Parts) images() ([]image, error) {
	busybox, err := busyboxLayer(p.Busybox)
	if err != nil {
		return nil, err
	}
	debian, err := tarball.LayerFromFile(p.Nginx)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.Nginx, err)
	}
	web := func(port int, names ...string) image {
		completed, failed := nginxLayer(port, p.Busybox)
		err = errors.Join(err, failed)
		return image{names, v1.Config{Cmd: []string{"nginx", "-c", "/etc/nginx/critest.conf"}}, []v1.Layer{debian, completed}}
	}
	sh := v1.Config{Cmd: []string{"sh"}}
	httpd := v1.Config{Cmd: []string{"sh", "-c", "echo busybox httpd serves; exec httpd -f -p 80 -h /www"}}
	list := []image{
		{[]string{e2eImages + "busybox:1.29-2"}, sh, []v1.Layer{busybox}},
		{[]string{e2eImages + "httpd:2.4.39-4"}, httpd, []v1.Layer{busybox}},
		web(80, e2eImages+"nginx:1.14-2"),
		web(12003, criImages+"hostnet-nginx-"+runtime.GOARCH),
		{[]string{criImages + "test-image-predefined-group"}, v1.Config{User: "1000", Cmd: []string{"sh"}}, []v1.Layer{busybox}},
	}
	for suffix, user := range map[string]string{"uid": "1002", "username": "www-data", "uid-group": "1003:users", "username-group": "www-data:100"} {
		list = append(list, image{[]string{criImages + "test-image-user-" + suffix}, v1.Config{User: user, Cmd: []string{"sh"}}, []v1.Layer{busybox}})
	}
	// Each is another image, whatever names it has.
	for _, names := range [][]string{
		{"pause:3.9"}, {criImages + "test-image-latest"}, {criImages + "test-image-tag:test"}, {criImages + "test-image-tag:all"},
		{criImages + "test-image-1"}, {criImages + "test-image-2"}, {criImages + "test-image-3"},
		{criImages + "test-image-tags:1", criImages + "test-image-tags:2", criImages + "test-image-tags:3"},
	} {
		own, failed := imageregistry.Layer([]imageregistry.File{{Name: strings.NewReplacer("/", "-", ":", "-").Replace(names[0]), Mode: 0o644}})
		err = errors.Join(err, failed)
		list = append(list, image{names, sh, []v1.Layer{busybox, own}})
	}
	return list, err
}

// The users and groups of upstream's images that tests ask for.
const (
	users = `root:x:0:0:root:/root:/bin/sh
www-data:x:33:33:www-data:/var/www:/bin/false
default-user:x:1000:1000::/home/default-user:/bin/sh
nobody:x:65534:65534:nobody:/home:/bin/false
`
	groups = `root:x:0:
www-data:x:33:
users:x:100:
default-user:x:1000:
group-defined-in-image:x:50000:default-user
nogroup:x:65534:
`
)

// busyboxLayer is busybox under all its names.
func busyboxLayer(program string) (v1.Layer, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	names, err := exec.Command(program, "--list").Output() //nolint:noctx // it ends at once
	if err != nil {
		return nil, fmt.Errorf("%s --list: %w", program, err)
	}
	files := []imageregistry.File{
		{Name: "bin/busybox", Mode: 0o755, Content: content},
		{Name: "etc/passwd", Mode: 0o644, Content: []byte(users)}, {Name: "etc/group", Mode: 0o644, Content: []byte(groups)},
		{Name: "home/", Mode: 0o755}, {Name: "root/", Mode: 0o700}, {Name: "tmp/", Mode: 0o1777}, {Name: "var/tmp/", Mode: 0o1777},
		{Name: "www/index.html", Mode: 0o644, Content: []byte("It works!\n")},
	}
	for applet := range strings.FieldsSeq(string(names)) {
		if applet != "busybox" {
			// As upstream's has it: a test masks /bin/ls. The mode of a hard link becomes that of the file.
			files = append(files, imageregistry.File{Name: "bin/" + applet, Mode: 0o755, Target: "bin/busybox", Hard: true})
		}
	}
	return imageregistry.Layer(files)
}

// nginxLayer is what Debian's packages leave to be done when they are configured, and a
// page at a port.
func nginxLayer(port int, busybox string) (v1.Layer, error) {
	content, err := os.ReadFile(busybox)
	if err != nil {
		return nil, err
	}
	return imageregistry.Layer([]imageregistry.File{
		// A test wants nothing in stderr, where the grep of today's Debian says that a command line is binary.
		{Name: "usr/local/bin/grep", Mode: 0o755, Content: content},
		{Name: "etc/passwd", Mode: 0o644, Content: []byte(users)}, {Name: "etc/group", Mode: 0o644, Content: []byte(groups)},
		{Name: "var/run/", Mode: 0o755}, {Name: "var/log/nginx/", Mode: 0o755}, {Name: "var/lib/nginx/", Mode: 0o755},
		{Name: "srv/index.html", Mode: 0o644, Content: []byte("Welcome to nginx!\n")},
		{Name: "etc/nginx/critest.conf", Mode: 0o644, Content: fmt.Appendf(nil,
			"user www-data;\ndaemon off;\npid /var/run/nginx.pid;\nevents {}\nhttp { access_log off; server { listen %d; root /srv; } }\n", port)},
	})
}
