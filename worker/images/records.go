package images

import (
	"context"
	"fmt"
)

// Records know with whose credentials images were pulled (A-IMG-8, KEP-2535).
// Their methods may be called by several goroutines at once.
type Records interface {
	// Intend is called before a pull; then one of Pulled and Failed is.
	Intend(image string) error
	// Pulled says which credential opened the registry; nil: everybody may use the image.
	Pulled(image, id string, by *Source)
	Failed(image string)
	// MustPull says whether an image that is present must be pulled all the same,
	// because nothing shows that one of these sources may use it.
	MustPull(image, id string, sources func() ([]Source, error)) bool
}

// MayUse says whether the pod of a request may use an image that is present
// (A-IMG-8); else it has to be pulled, which proves it. The request is asked for
// only if its credentials matter.
func (s *Store) MayUse(ctx context.Context, image string, found *Image, request func() PullRequest) bool {
	if s.options.Records == nil {
		return true
	}
	return !s.options.Records.MustPull(image, found.ID, func() ([]Source, error) {
		credentials, err := s.credentials(ctx, request())
		var sources []Source
		for _, login := range credentials {
			if login.source != nil {
				sources = append(sources, *login.source)
			}
		}
		return sources, err
	})
}

// pullRecorded pulls, and writes down who could.
func (s *Store) pullRecorded(ctx context.Context, request PullRequest, credentials []credential) (*Pulled, error) {
	records := s.options.Records
	if records == nil {
		return s.pullWithEach(ctx, request, credentials)
	}
	if err := records.Intend(request.Image); err != nil {
		return nil, fmt.Errorf("failed to record image pull intent: %w", err)
	}
	pulled, err := s.pullWithEach(ctx, request, credentials)
	if err != nil {
		records.Failed(request.Image)
		return nil, err
	}
	records.Pulled(request.Image, pulled.ID, pulled.Credential)
	return pulled, nil
}
