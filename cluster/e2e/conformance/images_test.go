//go:build conformance

package conformance

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/lifepod/lifepod/e2e/imageregistry"
)

// image is one of the tests': the Debian that most share, and files of its own.
type image struct {
	name   string // without tag: it has each that the tests want (tagsOf)
	config v1.Config
	bare   bool // without the Debian
	files  []imageregistry.File
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
var completed = []imageregistry.File{
	{Name: "etc/passwd", Mode: 0o644, Content: []byte(users)},
	{Name: "etc/group", Mode: 0o644, Content: []byte(groups)},
	{Name: "bin/sh", Target: "bash"}, // dash drops variables whose names are no identifiers
	{Name: "usr/bin/awk", Target: "mawk"},
	{Name: "bin/nc", Target: "nc.openbsd"},
	{Name: "tmp/", Mode: 0o1777},
	{Name: "var/tmp/", Mode: 0o1777},
	{Name: "uploads/", Mode: 0o755},
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
	agnhost := imageregistry.File{Name: "agnhost", Mode: 0o755, Content: read(filepath.Join(bin, "agnhost"))}
	serves := v1.Config{Entrypoint: []string{"/agnhost"}, Cmd: []string{"test-webserver"}}
	page := func(name string) []imageregistry.File {
		dir := filepath.Join(sources, name, "html")
		return []imageregistry.File{
			agnhost,
			{Name: "data.json", Mode: 0o644, Content: read(filepath.Join(dir, "data.json"))},
			{Name: name + ".jpg", Mode: 0o644, Content: read(filepath.Join(dir, name+".jpg"))},
			{Name: "etc/os-release", Mode: 0o644, Content: []byte("NAME=\"Alpine Linux\"\n")}, // as upstream's: a test reads it in an image volume
		}
	}
	nginx := image{name: "nginx", config: v1.Config{Cmd: []string{"nginx", "-c", "/etc/nginx/conformance.conf"}}, files: []imageregistry.File{
		{Name: "etc/nginx/conformance.conf", Mode: 0o644, Content: []byte(webServer)},
		{Name: "var/log/nginx/", Mode: 0o755}, {Name: "var/lib/nginx/", Mode: 0o755}, {Name: "run/", Mode: 0o755},
		{Name: "var/www/html/index.html", Mode: 0o644, Content: []byte("Welcome to nginx!\n")},
	}}
	list := []image{
		nginx,
		{name: "agnhost", config: v1.Config{Entrypoint: []string{"/agnhost"}, Cmd: []string{"pause"}}, files: []imageregistry.File{
			agnhost, {Name: "agnhost-2", Target: "agnhost"},
			{Name: "localhost.crt", Mode: 0o644, Content: read(filepath.Join(sources, "agnhost/porter/localhost.crt"))},
			{Name: "localhost.key", Mode: 0o644, Content: read(filepath.Join(sources, "agnhost/porter/localhost.key"))},
		}},
		{name: "busybox", config: v1.Config{Cmd: []string{"sh"}}, bare: true, files: busybox},
		{name: "glibc-dns-testing", config: v1.Config{Cmd: []string{"sh"}}},
		{name: "nonroot", config: v1.Config{User: "1234", Cmd: []string{"sh"}}, bare: true, files: busybox},
		{name: "pause", config: v1.Config{Entrypoint: []string{"/agnhost", "pause"}}, files: []imageregistry.File{agnhost}},
		{name: "kitten", config: serves, files: page("kitten")},
		{name: "nautilus", config: serves, files: page("nautilus")},
		{name: "nonewprivs", config: v1.Config{Cmd: []string{"nnp"}}, files: []imageregistry.File{
			{Name: "usr/local/bin/nnp", Mode: 0o4755, Content: read(filepath.Join(bin, "nonewprivs"))}}},
		{name: "sample-apiserver", config: v1.Config{Entrypoint: []string{"/sample-apiserver"}}, files: []imageregistry.File{
			{Name: "sample-apiserver", Mode: 0o755, Content: read(filepath.Join(bin, "sample-apiserver"))}}},
		{name: "etcd", config: v1.Config{Cmd: []string{"etcd"}}, files: []imageregistry.File{
			{Name: "usr/local/bin/etcd", Mode: 0o755, Content: read(etcd)}}},
	}
	return list, failed
}

// busyboxFiles are busybox, under all its names, and what programs look for.
func busyboxFiles(program string) ([]imageregistry.File, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	names, err := exec.Command(program, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --list: %w", program, err)
	}
	files := []imageregistry.File{
		{Name: "bin/busybox", Mode: 0o755, Content: content},
		{Name: "etc/passwd", Mode: 0o644, Content: []byte(systemUsers)},
		{Name: "etc/group", Mode: 0o644, Content: []byte(systemGroups)},
		{Name: "home/", Mode: 0o755}, {Name: "root/", Mode: 0o700}, {Name: "tmp/", Mode: 0o1777}, {Name: "var/tmp/", Mode: 0o1777},
	}
	for name := range strings.FieldsSeq(string(names)) {
		if name != "busybox" {
			files = append(files, imageregistry.File{Name: "bin/" + name, Target: "busybox"})
		}
	}
	return files, nil
}

// push puts all images into a registry, with the tags that the tests in bin want. base is the Debian, an archive.
func push(host, bin, base string, all []image) error {
	tags, err := tagsOf(filepath.Join(bin, "e2e.test"))
	if err != nil {
		return err
	}
	debian, err := tarball.LayerFromFile(base)
	if err != nil {
		return fmt.Errorf("read %s: %w", base, err)
	}
	rest, err := imageregistry.Layer(completed)
	if err != nil {
		return err
	}
	for _, one := range all {
		layers := []v1.Layer{debian, rest}
		if one.bare {
			layers = nil
		}
		if len(one.files) > 0 {
			own, err := imageregistry.Layer(one.files)
			if err != nil {
				return err
			}
			layers = append(layers, own)
		}
		if err := imageregistry.PushAll(host, tags.of(one.name), one.config, layers...); err != nil {
			return err
		}
	}
	return nil
}

// tagsOf are the images that the tests want, with their tags.
func tagsOf(tests string) (wanted, error) {
	out, err := exec.Command(tests, "--list-images").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --list-images: %w", tests, err)
	}
	return strings.Fields(string(out)), nil
}

type wanted []string

// of are the tags of an image, whichever registry it is in.
func (w wanted) of(name string) (tagged []string) {
	for _, reference := range w {
		if base, tag, _ := strings.Cut(path.Base(reference), ":"); base == path.Base(name) {
			tagged = append(tagged, name+":"+tag)
		}
	}
	return tagged
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
