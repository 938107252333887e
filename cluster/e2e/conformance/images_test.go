//go:build conformance

package conformance

import (
	"archive/tar"
	"bytes"
	"cmp"
	"fmt"
	"io"
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
)

// file is one of a layer: with content, or a link to a target. A name that ends with a
// slash is a folder.
type file struct {
	name    string
	mode    int64
	content []byte
	target  string
}

// image is one of the tests': the Debian that most share, and files of its own.
type image struct {
	names  []string // with tags
	config v1.Config
	bare   bool // without the Debian
	files  []file
}

// Users and groups that tests expect in images. Those of busybox have the first only: tests
// want to see there by their numbers the groups that pods give to files.
const (
	systemUsers = `root:x:0:0:root:/root:/bin/sh
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
`
	systemGroups = `root:x:0:
daemon:x:1:
tty:x:5:
www-data:x:33:
nogroup:x:65534:
`
	users = systemUsers + `user-defined-in-image:x:1000:1000::/home/user:/bin/sh
`
	groups = systemGroups + `user-defined-in-image:x:1000:
group-defined-in-image:x:50000:user-defined-in-image
`
	webServer = `daemon off;
events {}
http { access_log off; server { listen 80; root /var/www/html; } }
`
)

// completed are what Debian's packages leave to be done when they are configured, which
// needs a system that runs.
var completed = []file{
	{name: "etc/passwd", mode: 0o644, content: []byte(users)},
	{name: "etc/group", mode: 0o644, content: []byte(groups)},
	{name: "bin/sh", target: "bash"}, // dash drops variables whose names are no identifiers
	{name: "usr/bin/awk", target: "mawk"},
	{name: "bin/nc", target: "nc.openbsd"},
	{name: "tmp/", mode: 0o1777},
	{name: "var/tmp/", mode: 0o1777},
	{name: "uploads/", mode: 0o755},
}

// images are those that conformance tests run. The programs are below bin; upstream's
// sources of test images below sources.
func images(bin, sources, etcd string) ([]image, error) {
	var failed error
	read := func(path string) []byte {
		content, err := os.ReadFile(path)
		failed = cmp.Or(failed, err)
		return content
	}
	busybox, err := busyboxFiles(filepath.Join(bin, "busybox"))
	if err != nil {
		return nil, err
	}
	agnhost := file{name: "agnhost", mode: 0o755, content: read(filepath.Join(bin, "agnhost"))}
	serves := v1.Config{Entrypoint: []string{"/agnhost"}, Cmd: []string{"test-webserver"}}
	page := func(name string) []file {
		dir := filepath.Join(sources, name, "html")
		return []file{
			agnhost,
			{name: "data.json", mode: 0o644, content: read(filepath.Join(dir, "data.json"))},
			{name: name + ".jpg", mode: 0o644, content: read(filepath.Join(dir, name+".jpg"))},
			{name: "etc/os-release", mode: 0o644, content: []byte("NAME=\"Alpine Linux\"\n")}, // as upstream's: a test reads it in an image volume
		}
	}
	nginx := image{config: v1.Config{Cmd: []string{"nginx", "-c", "/etc/nginx/conformance.conf"}}, files: []file{
		{name: "etc/nginx/conformance.conf", mode: 0o644, content: []byte(webServer)},
		{name: "var/log/nginx/", mode: 0o755}, {name: "var/lib/nginx/", mode: 0o755}, {name: "run/", mode: 0o755},
		{name: "var/www/html/index.html", mode: 0o644, content: []byte("Welcome to nginx!\n")},
	}}
	nginx.names = []string{"nginx:1.15-4", "nginx:1.27-0"}
	list := []image{
		nginx,
		{names: []string{"agnhost:2.55", "agnhost:2.63.0"}, config: v1.Config{Entrypoint: []string{"/agnhost"}, Cmd: []string{"pause"}}, files: []file{
			agnhost, {name: "agnhost-2", target: "agnhost"},
			{name: "localhost.crt", mode: 0o644, content: read(filepath.Join(sources, "agnhost/porter/localhost.crt"))},
			{name: "localhost.key", mode: 0o644, content: read(filepath.Join(sources, "agnhost/porter/localhost.key"))},
		}},
		{names: []string{"busybox:1.37.0-1"}, config: v1.Config{Cmd: []string{"sh"}}, bare: true, files: busybox},
		{names: []string{"glibc-dns-testing:2.0.0"}, config: v1.Config{Cmd: []string{"sh"}}},
		{names: []string{"nonroot:1.5"}, config: v1.Config{User: "1234", Cmd: []string{"sh"}}, bare: true, files: busybox},
		{names: []string{"pause:3.10.2"}, config: v1.Config{Entrypoint: []string{"/agnhost", "pause"}}, files: []file{agnhost}},
		{names: []string{"kitten:1.8"}, config: serves, files: page("kitten")},
		{names: []string{"nautilus:1.8"}, config: serves, files: page("nautilus")},
		{names: []string{"nonewprivs:1.4"}, config: v1.Config{Cmd: []string{"nnp"}}, files: []file{
			{name: "usr/local/bin/nnp", mode: 0o4755, content: read(filepath.Join(bin, "nonewprivs"))}}},
		{names: []string{"sample-apiserver:1.29.2"}, config: v1.Config{Entrypoint: []string{"/sample-apiserver"}}, files: []file{
			{name: "sample-apiserver", mode: 0o755, content: read(filepath.Join(bin, "sample-apiserver"))}}},
		{names: []string{"etcd:3.6.8-0"}, config: v1.Config{Cmd: []string{"etcd"}}, files: []file{
			{name: "usr/local/bin/etcd", mode: 0o755, content: read(etcd)}}},
	}
	return list, failed
}

// busyboxFiles are busybox, under all its names, and what programs look for.
func busyboxFiles(program string) ([]file, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	names, err := exec.Command(program, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --list: %w", program, err)
	}
	files := []file{
		{name: "bin/busybox", mode: 0o755, content: content},
		{name: "etc/passwd", mode: 0o644, content: []byte(systemUsers)},
		{name: "etc/group", mode: 0o644, content: []byte(systemGroups)},
		{name: "home/", mode: 0o755}, {name: "root/", mode: 0o700}, {name: "tmp/", mode: 0o1777}, {name: "var/tmp/", mode: 0o1777},
	}
	for name := range strings.FieldsSeq(string(names)) {
		if name != "busybox" {
			files = append(files, file{name: "bin/" + name, target: "busybox"})
		}
	}
	return files, nil
}

// push puts all images into a registry. base is the Debian, an archive.
func push(host, base string, all []image) error {
	debian, err := tarball.LayerFromFile(base)
	if err != nil {
		return fmt.Errorf("read %s: %w", base, err)
	}
	rest, err := layer(completed)
	if err != nil {
		return err
	}
	for _, one := range all {
		layers := []v1.Layer{debian, rest}
		if one.bare {
			layers = nil
		}
		if len(one.files) > 0 {
			own, err := layer(one.files)
			if err != nil {
				return err
			}
			layers = append(layers, own)
		}
		made, err := mutate.AppendLayers(empty.Image, layers...)
		if err != nil {
			return err
		}
		one.config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
		made, err = mutate.ConfigFile(made, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH, Config: one.config, RootFS: rootFS(made)})
		if err != nil {
			return err
		}
		for _, tag := range one.names {
			reference, err := name.ParseReference(host + "/" + tag)
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

func rootFS(made v1.Image) v1.RootFS {
	config, err := made.ConfigFile()
	if err != nil {
		return v1.RootFS{}
	}
	return config.RootFS
}

func layer(files []file) (v1.Layer, error) {
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, f := range files {
		header := tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content))}
		switch {
		case f.target != "":
			header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, f.target, 0o777
		case strings.HasSuffix(f.name, "/"):
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil })
}

// upstreamSources is the folder of upstream's test images in the module cache.
func upstreamSources() (string, error) {
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	list.Dir = "upstream"
	list.Env = append(os.Environ(), "GOFLAGS=")
	out, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("where k8s.io/kubernetes is: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "test", "images"), nil
}
