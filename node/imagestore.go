package node

import (
	"context"
	"fmt"

	"github.com/lifepod/lifepod/node/pullsecret"
	"github.com/lifepod/lifepod/worker/images"
)

// newImages are the runtime's images with the node's credentials, its credential
// providers and the records of who may use what (A-IMG-7, A-IMG-8).
func (m *member) newImages(ctx context.Context) error {
	options := images.Options{
		NodeConfigs: images.AgentNodeConfigs(m.rootDir()),
		Content:     m.runtime.Content(), MaxParallel: maxParallelPulls(m.config),
	}
	if m.CredentialProviderConfig != "" || m.CredentialProviderBinDir != "" {
		list, err := pullsecret.Read(m.CredentialProviderConfig)
		if err != nil {
			return err
		}
		options.Providers, err = pullsecret.New(list, m.CredentialProviderBinDir, m.serviceAccounts(), m.Log)
		if err != nil {
			return err
		}
	}
	k := m.config.Kubelet
	policy, err := pullsecret.NewPolicy(k.ImagePullCredentialsVerificationPolicy, k.PreloadedImagesVerificationAllowlist)
	if err != nil {
		return err
	}
	if m.inCluster() { // pods of a folder are all of one owner
		present, err := images.New(m.runtime.Images, options).List(ctx)
		if err != nil {
			return fmt.Errorf("list the images that are present: %w", err)
		}
		options.Records = pullsecret.OpenRecords(m.rootDir(), policy, present, m.Log)
	}
	m.engine.Images = &imageStore{Store: images.New(m.runtime.Images, options), pulled: m.node.ImagesChanged}
	return nil
}

func (m *member) serviceAccounts() pullsecret.ServiceAccounts {
	if m.cluster == nil {
		return nil
	}
	return pullsecret.APIServiceAccounts{Client: m.cluster.client, Tokens: m.cluster.objects}
}

// imageStore tells the Node of images that have come.
type imageStore struct {
	*images.Store
	pulled func()
}

// Pull pulls as the Store does.
func (s *imageStore) Pull(ctx context.Context, request images.PullRequest) (*images.Pulled, error) {
	pulled, err := s.Store.Pull(ctx, request)
	if err == nil {
		s.pulled()
	}
	return pulled, err
}
