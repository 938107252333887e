package worker

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/images"
)

func (h *executor) inspectImage(ctx context.Context, e lifecycle.InspectImage) lifecycle.Fact {
	found, err := h.usableImage(ctx, e.Image)
	fact := lifecycle.ImageInspected{Result: result(ctx, e.ID, err), Image: found}
	if found == nil && err == nil {
		fact.LocalName = images.LocalName(ctx, h.engine.Images, e.Image)
	}
	return fact
}

// usableImage is what this machine has under that name, nil if it has nothing that the pod may use.
func (h *executor) usableImage(ctx context.Context, name string) (*lifecycle.ImageInfo, error) {
	found, err := h.engine.Images.Inspect(ctx, name)
	if found == nil || !h.engine.Images.MayUse(ctx, name, found, func() images.PullRequest { request, _ := h.pullRequest(name); return request }) {
		return nil, err
	}
	return imageInfo(found), err
}

// pullRequest comes with the names of the pull secrets that are missing.
func (h *executor) pullRequest(image string) (images.PullRequest, []string) {
	secrets, missing := h.pullSecrets()
	return images.PullRequest{Image: image, Pod: h.pod, Secrets: secrets, Progress: h.progress(image)}, missing
}

func (h *executor) pullImage(ctx context.Context, e lifecycle.PullImage) lifecycle.Fact {
	request, missing := h.pullRequest(e.Image)
	defer h.pullEnded(e.Image)
	pulled, err := h.engine.Images.Pull(ctx, request)
	fact := lifecycle.ImagePulled{Result: result(ctx, e.ID, err), MissingSecrets: missing}
	if refused, ok := errors.AsType[*images.PullError](err); ok {
		fact.Failure = &lifecycle.Failure{
			Class:   cri.FailureOf(ctx, refused.Err).Class,
			Reason:  refused.Reason,
			Message: refused.Message,
			Detail:  refused.Error(),
		}
		fact.Image, _ = h.usableImage(ctx, e.Image) // the pull's failure is what counts
		fact.LocalName = images.LocalName(ctx, h.engine.Images, e.Image)
	}
	if err == nil {
		fact.Image, fact.Took = imageInfo(&pulled.Image), pulled.PullDuration
	}
	return fact
}

func (h *executor) progress(image string) func(images.Progress) {
	return func(p images.Progress) {
		h.pulls.Store(image, p)
		h.post(nowMoved{})
		if h.engine.PullProgress != nil {
			h.engine.PullProgress(h.pod, image, p)
		}
	}
}

func (h *executor) pullEnded(image string) {
	h.pulls.Delete(image)
	if h.engine.PullProgress != nil {
		h.engine.PullProgress(h.pod, image, images.Progress{})
	}
}

// nowMoved says that what the journal says of now has changed without a step: a pull has come further,
// or a hook's output is held.
type nowMoved struct{}

// pulls are those under way, by image: of images.Progress.
type pulls struct{ sync.Map }

// list is how far they are, for the journal.
func (p *pulls) list() (list []journal.Pull) {
	for image, at := range p.Range {
		list = append(list, pullOf(image.(string), at.(images.Progress)))
	}
	slices.SortFunc(list, func(a, b journal.Pull) int { return strings.Compare(a.Image, b.Image) })
	return list
}

// pullOf is how far a pull is, in the journal's terms.
func pullOf(image string, at images.Progress) journal.Pull {
	pull := journal.Pull{
		Image: image, Elapsed: at.Elapsed, DoneBytes: at.DoneBytes, TotalBytes: at.TotalBytes, BytesPerSecond: at.BytesPerSecond, Layers: len(at.Layers),
	}
	if i := at.Current(); i >= 0 {
		l := at.Layers[i]
		pull.Layer = &journal.PullLayer{Number: i + 1, Digest: l.ShortDigest(), DoneBytes: l.DoneBytes, TotalBytes: l.TotalBytes}
	}
	return pull
}

// pullSecrets are the pod's imagePullSecrets, and the names of those that can't
// be read (A-IMG-7). An empty name is nobody's.
func (h *executor) pullSecrets() (secrets []v1.Secret, missing []string) {
	for _, reference := range h.pod.Spec.ImagePullSecrets {
		if reference.Name == "" {
			continue
		}
		secret, err := h.engine.API.Objects(h.pod).Secret(h.pod.Namespace, reference.Name)
		if err != nil {
			missing = append(missing, reference.Name)
			continue
		}
		secrets = append(secrets, *secret)
	}
	return secrets, missing
}

func imageInfo(i *images.Image) *lifecycle.ImageInfo {
	return &lifecycle.ImageInfo{ID: i.ID, Ref: i.Ref, SizeBytes: uint64(max(i.SizeBytes, 0)), UID: i.UID, Username: i.Username}
}
