package agent

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/agent/images"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
)

func (h *hands) inspectImage(ctx context.Context, e lifecycle.InspectImage) lifecycle.Fact {
	found, err := h.Images.Inspect(ctx, e.Image)
	fact := lifecycle.ImageInspected{Result: result(ctx, e.ID, err)}
	if found != nil {
		fact.Image = imageInfo(found)
	}
	return fact
}

func (h *hands) pullImage(ctx context.Context, e lifecycle.PullImage) lifecycle.Fact {
	pulled, err := h.Images.Pull(ctx, images.PullRequest{
		Image:    e.Image,
		Secrets:  h.pullSecrets(),
		Progress: h.progress(e.Image),
	})
	fact := lifecycle.ImagePulled{Result: result(ctx, e.ID, err)}
	if refused, ok := errors.AsType[*images.PullError](err); ok {
		fact.Failure = &lifecycle.Failure{
			Class:   cri.FailureOf(ctx, refused.Err).Class,
			Reason:  refused.Reason,
			Message: refused.Message,
			Detail:  refused.Error(),
		}
	}
	if err == nil {
		fact.Image, fact.Took = imageInfo(&pulled.Image), pulled.PullDuration
	}
	return fact
}

func (h *hands) progress(image string) func(images.Progress) {
	if h.PullProgress == nil {
		return nil
	}
	return func(p images.Progress) { h.PullProgress(h.pod, image, p) }
}

// pullSecrets are the pod's imagePullSecrets that exist (A-IMG-7).
func (h *hands) pullSecrets() []v1.Secret {
	var secrets []v1.Secret
	for _, reference := range h.pod.Spec.ImagePullSecrets {
		if secret, err := h.Objects.Secret(h.pod.Namespace, reference.Name); err == nil {
			secrets = append(secrets, *secret)
		}
	}
	return secrets
}

func imageInfo(i *images.Image) *lifecycle.ImageInfo {
	return &lifecycle.ImageInfo{ID: i.ID, Ref: i.Ref, SizeBytes: uint64(max(i.SizeBytes, 0)), UID: i.UID, Username: i.Username}
}
