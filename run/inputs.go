package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/manifest"
)

const (
	stdinName = "-"
	// fetchTimeout and mostFetched bound what is read of a URL.
	fetchTimeout = 30 * time.Second
	mostFetched  = 32 << 20
)

// readManifests reads and checks all manifests before anything is started.
func readManifests(o Options) (*manifest.Group, error) {
	variables, err := o.variables()
	if err != nil {
		return nil, err
	}
	var sources []manifest.Source
	for _, name := range o.Files {
		found, err := o.sources(name)
		if err != nil {
			return nil, fmt.Errorf("read manifest: %w", err)
		}
		sources = append(sources, found...)
	}
	if o.Kustomization != "" {
		source, err := o.kustomized()
		if err != nil {
			return nil, fmt.Errorf("-k %s: %w", o.Kustomization, err)
		}
		sources = append(sources, source)
	}
	if o.Substitute {
		if err := substitute(sources, variables); err != nil {
			return nil, err
		}
	}
	group, err := manifest.ReadAll(sources, manifest.Options{Name: o.Name})
	if err != nil {
		return nil, err
	}
	for _, pod := range podsOf(group) {
		pod.Spec.NodeName = host.Name()
		setVariables(pod, variables)
		setPullPolicy(pod, o.Pull)
	}
	if err := o.giveInput(group); err != nil {
		return nil, err
	}
	if err := publishAll(podsOf(group), group.Services, o.Ports); err != nil {
		return nil, err
	}
	for _, pod := range podsOf(group) {
		if err := checkReachable(o, pod); err != nil {
			return nil, err
		}
	}
	return group, nil
}

// giveInput gives the container that the user talks to its input, with -i: the first one that has any, or the only one.
func (o Options) giveInput(group *manifest.Group) error {
	if !o.Input {
		return nil
	}
	pods := podsOf(group)
	if len(pods) != 1 || len(group.Jobs) > 0 {
		return fmt.Errorf("-i: the manifests have %s and %s: want one pod", plain.Count(len(pods)-len(group.Jobs), "pod"), plain.Count(len(group.Jobs), "Job"))
	}
	containers := pods[0].Spec.Containers
	i := slices.IndexFunc(containers, func(c v1.Container) bool { return c.Stdin })
	if i < 0 && len(containers) > 1 {
		return fmt.Errorf("-i: the pod has %d containers, and none that says stdin: true: set that for the one that you want to talk to", len(containers))
	}
	c := &containers[max(i, 0)]
	c.StdinOnce = c.StdinOnce || !c.Stdin // the end of a pipe is the end of its input
	c.Stdin, c.TTY = true, c.TTY || o.Terminal
	c.RestartPolicy, c.RestartPolicyRules = ptr.To(v1.ContainerRestartPolicyNever), nil // the session ends with its first instance
	return nil
}

// sources are what an argument names: standard input, a URL, a file, or those of a folder.
func (o Options) sources(name string) ([]manifest.Source, error) {
	switch {
	case name == stdinName:
		data, err := io.ReadAll(o.Stdin)
		return []manifest.Source{{Name: "<stdin>", Data: data}}, err
	case isURL(name):
		data, err := fetch(name)
		return []manifest.Source{{Name: name, Data: data}}, err
	}
	files, err := o.filesOf(name)
	var list []manifest.Source
	for _, file := range files {
		data, e := os.ReadFile(file)
		err = errors.Join(err, e)
		list = append(list, manifest.Source{Name: file, Data: data})
	}
	return list, err
}

// kustomized is what the kustomization is built to.
func (o Options) kustomized() (manifest.Source, error) {
	if o.BuildKustomization == nil {
		return manifest.Source{}, fmt.Errorf("this program can't build a kustomization, bin/lifepod of make build can: or run kubectl kustomize %s | lifepod run -", o.Kustomization)
	}
	data, err := o.BuildKustomization(o.Kustomization)
	return manifest.Source{Name: "kustomize " + o.Kustomization, Data: data}, err
}

// filesOf is the file of that name, or, of a folder, its manifests by name, as kubectl apply -f takes them: those in
// folders below are not among them without -R.
func (o Options) filesOf(name string) (files []string, err error) {
	if !isFolder(name) {
		return []string{name}, nil // reading it says what is wrong with it
	}
	folder := name + "/" // followed if it is a link
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != folder && !o.Recursive:
			return fs.SkipDir
		case slices.Contains(manifestEndings, filepath.Ext(path)) && !isFolder(path):
			files = append(files, path)
		}
		return nil
	})
	if files == nil && err == nil {
		return nil, fmt.Errorf("the folder %s has no file that ends in %s; -R reads the folders below, too", name, strings.Join(manifestEndings, ", "))
	}
	return files, err
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

var manifestEndings = []string{".yaml", ".yml", ".json"}

func isURL(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

func fetch(url string) ([]byte, error) {
	client := http.Client{Timeout: fetchTimeout}
	answer, err := client.Get(url)
	if err != nil {
		return nil, err // it names the URL
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %q: %s", url, answer.Status)
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, mostFetched+1)) // one more byte is too much for what reads it
	if err != nil {
		return nil, fmt.Errorf("get %q: %w", url, err)
	}
	return data, nil
}
