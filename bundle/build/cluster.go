package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/lifepod/lifepod/bundle/manifest"
)

// The program of clusters, below its module cluster/.
const (
	clusterPackage = "./cmd/lifepod-cluster"
	// clusterTags are ours alone: it carries no runtime itself. With a tag that a package of Kubernetes looks at, as its
	// releases have, all that imports that would be compiled a second time for the tests.
	clusterTags = "lifepod_cluster"
	kubernetes  = "k8s.io/kubernetes"
)

// buildCluster builds the program of clusters and packs it with the runtime's
// manifest.
func (t tree) buildCluster(ctx context.Context) error {
	module := filepath.Join(t.root, "cluster")
	version, err := output(ctx, module, "go", "list", "-m", "-f", "{{.Version}}", kubernetes)
	if err != nil {
		return err
	}
	p := packing{
		from: t.cluster(), to: t.assets(), folders: []string{"assets", "bin"},
		archiveName: manifest.ClusterArchiveName, manifestName: manifest.ClusterName, level: zstd.SpeedBetterCompression,
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", clusterTags,
		"-ldflags", kubernetesVersion(strings.TrimSpace(string(version))), "-o", filepath.Join(p.from, manifest.ClusterProgram), clusterPackage)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+string(t.arch))
	say("the program of clusters, with Kubernetes' control plane: minutes when it is built for the first time")
	if err := execute(cmd, module, "build "+clusterPackage); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(t.assets(), manifest.Name))
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(p.from, manifest.ClusterRuntime), text); err != nil {
		return err
	}
	return p.pack()
}

// kubernetesVersion makes the API server say its version, as Kubernetes' build does.
func kubernetesVersion(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags, "-X", pkg+".gitVersion="+version, "-X", pkg+".gitMajor="+major, "-X", pkg+".gitMinor="+minor)
	}
	return strings.Join(flags, " ")
}

func writeFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), fs.FileMode(0o755)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.WriteFile(path, text, 0o644)
}
