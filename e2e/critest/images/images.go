// Package images makes the images that critest pulls, and serves them in a registry.
package images

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/lifepod/lifepod/e2e/imageregistry"
)

// image is one that tests pull, by its names without their registry.
type image struct {
	names  []string
	config v1.Config
	layers []v1.Layer
}

// Parts are what the images are made of.
type Parts struct {
	Busybox string // a program
	Nginx   string // an archive of a Debian with nginx
}

// Serve serves the tests' images at the listener, and has the runtime of root take them from
// there, whatever registry their names have.
func Serve(listener net.Listener, root string, p Parts) (closeAll func() error, err error) {
	served := imageregistry.Serve(listener)
	all, err := p.images()
	if err == nil {
		err = push(listener.Addr().String(), all)
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
		own, failed := layer([]file{{name: strings.NewReplacer("/", "-", ":", "-").Replace(names[0]), mode: 0o644}})
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
	files := []file{
		{name: "bin/busybox", mode: 0o755, content: string(content)},
		{name: "etc/passwd", mode: 0o644, content: users}, {name: "etc/group", mode: 0o644, content: groups},
		{name: "home/", mode: 0o755}, {name: "root/", mode: 0o700}, {name: "tmp/", mode: 0o1777}, {name: "var/tmp/", mode: 0o1777},
		{name: "www/index.html", mode: 0o644, content: "It works!\n"},
	}
	for applet := range strings.FieldsSeq(string(names)) {
		if applet != "busybox" {
			// As upstream's has it: a test masks /bin/ls. The mode of a hard link becomes that of the file.
			files = append(files, file{name: "bin/" + applet, mode: 0o755, target: "bin/busybox", hard: true})
		}
	}
	return layer(files)
}

// nginxLayer is what Debian's packages leave to be done when they are configured, and a
// page at a port.
func nginxLayer(port int, busybox string) (v1.Layer, error) {
	content, err := os.ReadFile(busybox)
	if err != nil {
		return nil, err
	}
	return layer([]file{
		// A test wants nothing in stderr, where the grep of today's Debian says that a command line is binary.
		{name: "usr/local/bin/grep", mode: 0o755, content: string(content)},
		{name: "etc/passwd", mode: 0o644, content: users}, {name: "etc/group", mode: 0o644, content: groups},
		{name: "var/run/", mode: 0o755}, {name: "var/log/nginx/", mode: 0o755}, {name: "var/lib/nginx/", mode: 0o755},
		{name: "srv/index.html", mode: 0o644, content: "Welcome to nginx!\n"},
		{name: "etc/nginx/critest.conf", mode: 0o644, content: fmt.Sprintf(
			"user www-data;\ndaemon off;\npid /var/run/nginx.pid;\nevents {}\nhttp { access_log off; server { listen %d; root /srv; } }\n", port)},
	})
}

// file is one of a layer: with content, or a link to a target. A name that ends with a
// slash is a folder.
type file struct {
	name            string
	mode            int64
	content, target string
	hard            bool // not a symbolic link
}

func layer(files []file) (v1.Layer, error) {
	slices.SortFunc(files, func(a, b file) int { // what hard links lead to comes first
		if a.hard != b.hard {
			return cmp.Compare(fmt.Sprint(a.hard), fmt.Sprint(b.hard))
		}
		return strings.Compare(a.name, b.name)
	})
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, f := range files {
		header := tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content))}
		switch {
		case f.hard:
			header.Typeflag, header.Linkname = tar.TypeLink, f.target
		case f.target != "":
			header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, f.target, 0o777
		case strings.HasSuffix(f.name, "/"):
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(archive, f.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil })
}

func push(host string, all []image) error {
	for _, one := range all {
		made, err := mutate.AppendLayers(empty.Image, one.layers...)
		if err != nil {
			return err
		}
		rest, err := made.ConfigFile()
		if err != nil {
			return err
		}
		one.config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
		made, err = mutate.ConfigFile(made, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH, Config: one.config, RootFS: rest.RootFS})
		if err != nil {
			return err
		}
		for _, tagged := range one.names {
			reference, err := name.ParseReference(host + "/" + tagged)
			if err != nil {
				return err
			}
			if err := remote.Write(reference, made); err != nil {
				return fmt.Errorf("push %s: %w", reference, err)
			}
		}
	}
	return nil
}
