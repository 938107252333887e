package objects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/distribution/reference"
	kubelet "k8s.io/kubelet/config/v1beta1"
)

// PullPolicy says for which images that are present a pod has to show that it may use
// them (imagePullCredentialsVerificationPolicy, KEP-2535).
type PullPolicy struct {
	name    kubelet.ImagePullCredentialsVerificationPolicy
	allowed []string // repositories, or with a slash at the end all that begin so
}

// NewPullPolicy reads the policy of the node's configuration; empty is
// NeverVerifyPreloadedImages. Preloaded are the images of
// preloadedImagesVerificationAllowlist.
func NewPullPolicy(name kubelet.ImagePullCredentialsVerificationPolicy, preloaded []string) (PullPolicy, error) {
	known := []kubelet.ImagePullCredentialsVerificationPolicy{
		kubelet.NeverVerify, kubelet.NeverVerifyPreloadedImages, kubelet.NeverVerifyAllowlistedImages, kubelet.AlwaysVerify,
	}
	if name == "" {
		name = kubelet.NeverVerifyPreloadedImages
	}
	if !slices.Contains(known, name) {
		return PullPolicy{}, fmt.Errorf("imagePullCredentialsVerificationPolicy: unknown policy %q, want one of %q", name, known)
	}
	if len(preloaded) > 0 && name != kubelet.NeverVerifyAllowlistedImages {
		return PullPolicy{}, fmt.Errorf("preloadedImagesVerificationAllowlist: it belongs to the policy %s, not %s", kubelet.NeverVerifyAllowlistedImages, name)
	}
	policy := PullPolicy{name: name}
	for _, pattern := range preloaded {
		allowed, err := parseAllowed(pattern)
		if err != nil {
			return PullPolicy{}, fmt.Errorf("preloadedImagesVerificationAllowlist: %w", err)
		}
		policy.allowed = append(policy.allowed, allowed)
	}
	return policy, nil
}

// parseAllowed takes a repository, or "registry/path/*".
func parseAllowed(pattern string) (string, error) {
	if pattern != strings.TrimSpace(pattern) {
		return "", fmt.Errorf("leading/trailing spaces are not allowed: %s", pattern)
	}
	prefix, wildcard := strings.CutSuffix(pattern, "*")
	switch {
	case strings.Contains(prefix, "*") || wildcard && !strings.HasSuffix(prefix, "/"):
		return "", fmt.Errorf("not a valid wildcard pattern, only patterns ending with '/*' are allowed: %s", pattern)
	case prefix == "/":
		return "", fmt.Errorf("at least registry hostname is required: %s", pattern)
	case wildcard:
		return prefix, nil
	}
	repository, err := repositoryOf(pattern)
	if err != nil {
		return "", fmt.Errorf("failed to parse as an image name: %w", err)
	}
	if repository != pattern {
		return "", fmt.Errorf("neither tag nor digest is accepted in an image reference: %s", pattern)
	}
	return pattern, nil
}

// verifies says whether the policy asks for a proof. Pulled are images that the
// node has pulled for a pod.
func (p PullPolicy) verifies(image string, pulled bool) bool {
	switch p.name {
	case kubelet.NeverVerify:
		return false
	case kubelet.AlwaysVerify:
		return true
	case kubelet.NeverVerifyAllowlistedImages:
		return !p.allows(image)
	}
	return pulled
}

func (p PullPolicy) allows(image string) bool {
	repository, err := repositoryOf(image)
	if err != nil {
		repository = image
	}
	return slices.ContainsFunc(p.allowed, func(a string) bool {
		return a == repository || strings.HasSuffix(a, "/") && strings.HasPrefix(repository, a)
	})
}

// repositoryOf is the image as written, without tag and digest.
func repositoryOf(image string) (string, error) {
	parsed, err := reference.Parse(image)
	if err != nil {
		return "", err
	}
	if digested, ok := parsed.(reference.Digested); ok {
		image = strings.TrimSuffix(image, "@"+digested.Digest().String())
	}
	if tagged, ok := parsed.(reference.Tagged); ok {
		image = strings.TrimSuffix(image, ":"+tagged.Tag())
	}
	return image, nil
}
