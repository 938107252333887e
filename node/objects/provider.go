package objects

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"
	v1 "k8s.io/api/core/v1"
	config "k8s.io/kubelet/config/v1"
	api "k8s.io/kubelet/pkg/apis/credentialprovider/v1"

	"github.com/lifepod/lifepod/worker/images"
)

// CredentialProviders are the credential providers of a node.
type CredentialProviders struct {
	list     []*provider
	accounts ServiceAccounts
	log      *slog.Logger
}

// NewCredentialProviders makes the providers of a config (Read), whose plugins are files of binDir.
// Accounts are needed by those with tokenAttributes; nil without an API server.
func NewCredentialProviders(list []config.CredentialProvider, binDir string, accounts ServiceAccounts, log *slog.Logger) (*CredentialProviders, error) {
	if binDir == "" {
		return nil, errors.New("credential provider plugins: no folder is given, want --image-credential-provider-bin-dir beside --image-credential-provider-config")
	}
	if _, err := os.Stat(binDir); err != nil {
		return nil, fmt.Errorf("credential provider plugins: %w", err)
	}
	out := &CredentialProviders{accounts: accounts, log: log}
	for _, p := range list {
		path, err := exec.LookPath(filepath.Join(binDir, p.Name))
		if err != nil {
			return nil, fmt.Errorf("credential provider plugin %s: %w", p.Name, err)
		}
		out.list = append(out.list, &provider{config: p, plugin: newPlugin(path, p)})
	}
	return out, nil
}

// Logins implements images.Providers. A plugin that fails is told of, and gives
// nothing: the pull is tried without.
func (p *CredentialProviders) Logins(ctx context.Context, repository string, pod *v1.Pod) []images.Login {
	var all []images.Login
	for _, provider := range p.list {
		logins, err := provider.logins(ctx, p.accounts, repository, pod)
		if err != nil {
			p.log.Warn("a credential provider gives no credentials", "provider", provider.config.Name, "image", repository, "err", err)
		}
		all = append(all, logins...)
	}
	return all
}

// provider is one plugin with what it has given.
type provider struct {
	config config.CredentialProvider
	plugin plugin
	cache  credentialCache
	asked  singleflight.Group
}

func (p *provider) logins(ctx context.Context, accounts ServiceAccounts, repository string, pod *v1.Pod) ([]images.Login, error) {
	fits := func(pattern string) bool { return images.Matches(pattern, repository) }
	if !slices.ContainsFunc(p.config.MatchImages, fits) {
		return nil, nil
	}
	id, ok, err := identify(ctx, accounts, p.config.TokenAttributes, pod)
	if err != nil || !ok {
		return nil, err
	}
	if logins, found := p.cache.find(scopes(repository, id)...); found {
		return logins, nil
	}
	// Pulls of one image at the same time run the plugin once; one that is given up
	// does not take it from the others.
	answer := p.asked.DoChan(repository+"\x00"+id.key+"\x00"+id.token, func() (any, error) {
		return p.ask(context.WithoutCancel(ctx), repository, id)
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case result := <-answer:
		logins, _ := result.Val.([]images.Login)
		return logins, result.Err
	}
}

// scopes are the keys under which credentials for an image may be cached.
func scopes(repository string, id accountIdentity) []cacheKey {
	registry, _, _ := strings.Cut(repository, "/")
	return []cacheKey{{repository, id.key}, {registry, id.key}, {"", id.key}}
}

func (p *provider) ask(ctx context.Context, repository string, id accountIdentity) ([]images.Login, error) {
	response, err := p.plugin.run(ctx, api.CredentialProviderRequest{
		Image: repository, ServiceAccountToken: id.token, ServiceAccountAnnotations: id.annotations,
	})
	if err != nil {
		return nil, fmt.Errorf("failed to get credential from external registry credential provider: %w", err)
	}
	key, err := p.check(response, repository, id)
	if err != nil {
		return nil, err
	}
	var logins []images.Login
	for _, location := range slices.Sorted(maps.Keys(response.Auth)) {
		auth := response.Auth[location]
		login := images.Login{Location: location, Username: auth.Username, Password: auth.Password}
		if id.account != nil {
			login.Source = &images.Source{ServiceAccount: id.account}
		}
		logins = append(logins, login)
	}
	p.cache.keep(key, logins, p.goodFor(response))
	return logins, nil
}

// check says under which key the answer may be kept. A plugin that hands the
// token back as the password has to keep it by token: nobody else may have it.
func (p *provider) check(response *api.CredentialProviderResponse, repository string, id accountIdentity) (cacheKey, error) {
	if t := p.config.TokenAttributes; t != nil && id.token != "" && t.CacheType != config.TokenServiceAccountTokenCacheType {
		for _, auth := range response.Auth {
			if auth.Password == id.token {
				return cacheKey{}, errors.New("credential provider plugin returned the service account token as the password which is not allowed when service account cache type is not set to 'Token'")
			}
		}
	}
	keys := scopes(repository, id)
	switch response.CacheKeyType {
	case api.ImagePluginCacheKeyType:
		return keys[0], nil
	case api.RegistryPluginCacheKeyType:
		return keys[1], nil
	case api.GlobalPluginCacheKeyType:
		return keys[2], nil
	}
	return cacheKey{}, fmt.Errorf("credential provider plugin did not return a valid cacheKeyType: %s", response.CacheKeyType)
}

func (p *provider) goodFor(response *api.CredentialProviderResponse) time.Duration {
	if response.CacheDuration != nil {
		return response.CacheDuration.Duration
	}
	return p.config.DefaultCacheDuration.Duration
}
