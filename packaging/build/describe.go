package main

import (
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/files"
)

const (
	maintainer  = "The lifepod authors <maintainers@lifepod.dev>"
	homepage    = "https://github.com/lifepod/lifepod"
	description = `run Kubernetes Pods, as a node of a cluster, or a cluster of its own
lifepod takes a Pod through its lifecycle exactly as Kubernetes defines it:
from a file, without a cluster, or as the agent of a node, in the kubelet's
place. lifepod up is a whole cluster in one process. It brings its container
runtime along.`
)

// describe is the package. What is in made was generated.
func describe(root, made, version string, binary binary, when time.Time) *nfpm.Info {
	source := func(name string) string { return filepath.Join(root, "packaging", "files", name) }
	info := &nfpm.Info{
		Name: "lifepod", Version: version, VersionSchema: "none", Arch: binary.arch, Platform: "linux",
		Section: "admin", Priority: "optional", Maintainer: maintainer, Homepage: homepage, Description: description,
		License: "Apache-2.0", MTime: when, DisableGlobbing: true,
	}
	// The CNI plugins call them; a unit needs the helper of the scripts.
	info.Depends = slices.Concat(binary.depends, []string{"init-system-helpers (>= 1.54)", "nftables | iptables"})
	info.Recommends = []string{"systemd"}
	info.Deb.Compression = "gzip" // every dpkg knows it, and most of the binary is compressed already
	info.Scripts = nfpm.Scripts{PostInstall: source("postinst"), PreRemove: source("prerm"), PostRemove: source("postrm")}
	at := func(src, dst string, mode fs.FileMode) *files.Content {
		return &files.Content{Source: src, Destination: dst, FileInfo: &files.ContentFileInfo{Mode: mode, MTime: when}}
	}
	info.Contents = files.Contents{
		at(binary.path, "/usr/bin/lifepod", 0o755),
		{Source: "lifepod", Destination: "/usr/bin/kubectl-lifepod", Type: files.TypeSymlink, FileInfo: &files.ContentFileInfo{MTime: when}},
		at(source("lifepod-agent.service"), "/usr/lib/systemd/system/lifepod-agent.service", 0o644),
		at(source("lifepod-up.service"), "/usr/lib/systemd/system/lifepod-up.service", 0o644),
		at(source("examples/10-kubeadm.conf"), "/usr/share/doc/lifepod/examples/10-kubeadm.conf", 0o644),
		at(source("copyright"), "/usr/share/doc/lifepod/copyright", 0o644),
		at(source("lintian-overrides"), "/usr/share/lintian/overrides/lifepod", 0o644),
		at(filepath.Join(made, "changelog.gz"), "/usr/share/doc/lifepod/changelog.gz", 0o644),
		at(source("kubectl_complete-lifepod"), "/usr/bin/kubectl_complete-lifepod", 0o755),
		at(filepath.Join(made, "lifepod.bash"), "/usr/share/bash-completion/completions/lifepod", 0o644),
		at(filepath.Join(made, "_lifepod"), "/usr/share/zsh/vendor-completions/_lifepod", 0o644),
		at(filepath.Join(made, "lifepod.fish"), "/usr/share/fish/vendor_completions.d/lifepod.fish", 0o644),
		at(filepath.Join(made, "lifepod.1.gz"), "/usr/share/man/man1/lifepod.1.gz", 0o644),
		{
			Source: source("default"), Destination: "/etc/default/lifepod", Type: files.TypeConfigNoReplace,
			FileInfo: &files.ContentFileInfo{Mode: 0o644, MTime: when},
		},
	}
	return info
}
