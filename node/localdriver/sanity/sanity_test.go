// Package sanity runs csi-sanity, the test suite of the CSI project, against the driver of
// local volumes. It is a module of its own, because the suite wants other versions of CSI and
// gRPC than lifepod. It makes mounts and loop devices: as root.
package sanity

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/kubernetes-csi/csi-test/v5/pkg/sanity"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/localdriver"
)

// The suite is for volumes with a file system, and for block devices.
var (
	mount = config("mount")
	block = config("block")

	_ = ginkgo.Describe("file system", func() { sanity.GinkgoTest(mount) })
	_ = ginkgo.Describe("block device", func() { sanity.GinkgoTest(block) })
)

func config(access string) *sanity.TestConfig {
	config := sanity.NewTestConfig()
	config.TestVolumeAccessType = access
	config.TestVolumeSize, config.TestVolumeExpandSize = 64<<20, 128<<20
	return &config
}

func TestSanity(t *testing.T) {
	dir := t.TempDir()
	driver := assert.Get(localdriver.New(localdriver.Config{Dir: filepath.Join(dir, "volumes"), Node: "node-a", Version: "test", Log: slog.New(slog.DiscardHandler)})).Must(t)
	ctx, stop := context.WithCancel(t.Context())
	done, socket := make(chan error), filepath.Join(dir, "csi.sock")
	go func() { done <- driver.Serve(ctx, socket) }()
	for _, config := range []*sanity.TestConfig{mount, block} {
		config.Address, config.TargetPath, config.StagingPath = socket, filepath.Join(dir, "targets"), filepath.Join(dir, "staging")
	}
	gomega.RegisterFailHandler(ginkgo.Fail)
	ginkgo.RunSpecs(t, "csi-sanity")
	stop()
	assert.NoError(t, <-done)
}
