package node

import (
	"context"
	"fmt"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/node/config"
	"github.com/lifepod/lifepod/node/objects"
	"github.com/lifepod/lifepod/node/space"
	"github.com/lifepod/lifepod/worker/images"
)

// newImages are the runtime's images with the node's credentials, its credential
// providers and the records of who may use what (A-IMG-7, A-IMG-8). changed is called when
// images have come or gone.
func (s *setup) newImages(ctx context.Context, accounts objects.ServiceAccounts, changed func()) (*space.Claims, error) {
	k, o := s.config.Kubelet, s.options
	options := images.Options{
		NodeConfigs: images.AgentNodeConfigs(o.rootDir()),
		Containerd:  s.runtime.ContainerdAPI(), MaxParallel: maxParallelPulls(s.config),
	}
	if s.config.Set("registryPullQPS") { // as with serializeImagePulls: fast unless a file says otherwise
		options.PerSecond, options.Burst = int(*k.RegistryPullQPS), int(k.RegistryBurst)
	}
	if s.imagesElsewhere {
		options.Containerd = nil // the images are not the runtime's containerd's
	}
	if o.CredentialProviderConfig != "" || o.CredentialProviderBinDir != "" {
		list, err := objects.ReadCredentialProviders(o.CredentialProviderConfig)
		if err != nil {
			return nil, err
		}
		options.Providers, err = objects.NewCredentialProviders(list, o.CredentialProviderBinDir, accounts, s.log)
		if err != nil {
			return nil, err
		}
	}
	policy, err := objects.NewPullPolicy(k.ImagePullCredentialsVerificationPolicy, k.PreloadedImagesVerificationAllowlist)
	if err != nil {
		return nil, err
	}
	if o.inCluster() { // pods of a folder are all of one owner
		present, err := cri.Again(ctx, images.New(s.calls.Images, options).List)
		if err != nil {
			return nil, fmt.Errorf("list the images that are present: %w", err)
		}
		options.Records = objects.OpenPullRecords(o.rootDir(), policy, present, s.log)
	}
	return space.NewClaims(images.New(s.calls.Images, options), changed), nil
}

// maxParallelPulls is how many images are pulled at a time; 0 is no limit. Kubernetes
// pulls one after the other unless it is told otherwise; lifepod, which is told to
// be fast, does so only if the file says it.
func maxParallelPulls(c *config.Config) int {
	switch {
	case c.Set("serializeImagePulls") && *c.Kubelet.SerializeImagePulls:
		return 1
	case c.Kubelet.MaxParallelImagePulls != nil:
		return int(*c.Kubelet.MaxParallelImagePulls)
	}
	return 0
}
