package volumes

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// projected has the files of several sources.
func (p preparer) projected(ctx context.Context, volume *v1.Volume) (payload, []error) {
	files, failures := payload{}, []error(nil)
	for i := range volume.Projected.Sources {
		one, err := p.projection(ctx, volume, i)
		if err != nil {
			failures = append(failures, err)
		}
		maps.Copy(files, one)
	}
	return files, failures
}

// projection has the files of one source.
func (p preparer) projection(ctx context.Context, volume *v1.Volume, number int) (payload, error) {
	source, defaultMode := &volume.Projected.Sources[number], volume.Projected.DefaultMode
	switch {
	case *source == (v1.VolumeProjection{}): // what the API server does not know, it leaves out (A-VOL-5)
		return nil, nil
	case source.ConfigMap != nil:
		c := source.ConfigMap
		return p.configMapFiles(&v1.ConfigMapVolumeSource{LocalObjectReference: c.LocalObjectReference, Items: c.Items, Optional: c.Optional, DefaultMode: defaultMode})
	case source.Secret != nil:
		s := source.Secret
		return p.secretFiles(&v1.SecretVolumeSource{SecretName: s.Name, Items: s.Items, Optional: s.Optional, DefaultMode: defaultMode})
	case source.DownwardAPI != nil:
		return p.downwardFiles(source.DownwardAPI.Items, defaultMode)
	case p.sources.API == nil:
		return nil, errors.New("only configMap, secret and downwardAPI can be projected: tokens, trust bundles and certificates come from an API server, and there is none")
	case source.ServiceAccountToken != nil:
		token, err := p.sources.API.Token(ctx, p.pod, source.ServiceAccountToken)
		if err != nil {
			return nil, sourceFailed(err)
		}
		return p.private(source.ServiceAccountToken.Path, []byte(token), defaultMode), nil
	case source.ClusterTrustBundle != nil:
		anchors, err := p.sources.API.TrustAnchors(ctx, source.ClusterTrustBundle)
		if err != nil {
			return nil, err
		}
		return p.private(source.ClusterTrustBundle.Path, anchors, defaultMode), nil
	}
	return p.certificate(ctx, volume, number)
}

// certificate has the files of a podCertificate source (A-CERT-2).
func (p preparer) certificate(ctx context.Context, volume *v1.Volume, number int) (payload, error) {
	have, err := p.sources.API.PodCertificate(ctx, p.pod, volume, number)
	if errors.As(err, new(*RefusedError)) {
		return nil, err
	}
	if err != nil {
		return nil, sourceFailed(err)
	}
	files, source := payload{}, volume.Projected.Sources[number].PodCertificate
	for path, data := range map[string][]byte{
		source.CredentialBundlePath: slices.Concat(have.Key, have.Chain), source.KeyPath: have.Key, source.CertificateChainPath: have.Chain,
	} {
		if path != "" {
			maps.Copy(files, p.private(path, data, volume.Projected.DefaultMode))
		}
	}
	return files, nil
}

// private is a file for the user or the group that the pod runs as, if it names
// one; the group gets its right with the volume (A-VOL-5).
func (p preparer) private(path string, data []byte, defaultMode *int32) payload {
	f := file{data: data, mode: fileMode(ptr.Deref(defaultMode, v1.ProjectedVolumeSourceDefaultMode)), owner: p.fsUser()}
	if f.owner != nil || p.fsGroup() != nil {
		f.mode = 0o600
	}
	return payload{filepath.Clean(path): f}
}
