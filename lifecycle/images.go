package lifecycle

import (
	"cmp"
	"fmt"
	"time"

	"github.com/distribution/reference"
	v1 "k8s.io/api/core/v1"
)

// image is where a container's image is, for the next start.
type image struct {
	state   imageState
	op      EffectID
	info    ImageInfo
	refused *Failure  // why it is not there yet; cleared by success
	retryAt time.Time // not tried before
	since   time.Time // when the pull was asked for
}

type imageState int

const (
	imageNeeded imageState = iota
	imageInspecting
	imagePulling
	imagePresent
)

// planImages fetches the images of all containers that have not run yet, at
// once and beside the sandbox's creation.
func planImages(s *step) {
	for _, c := range s.containers {
		if c.position == absent {
			ensureImage(s, c)
		}
	}
}

// ensureImage brings the container's image one step nearer and reports whether
// it is present (A-IMG-2). Images of restarts are asked for anew.
func ensureImage(s *step, c *container) bool {
	if c.image.state == imageNeeded && s.due(c.image.retryAt) {
		name, err := WithDefaultTag(c.spec.Image)
		switch {
		case err != nil:
			invalidImageName(s, c, err)
		case c.spec.ImagePullPolicy == v1.PullAlways:
			pull(s, c, name)
		default:
			c.image.state, c.image.op = imageInspecting, s.nextID()
			s.do(InspectImage{ID: c.image.op, Container: c.spec.Name, Image: name})
		}
	}
	return c.image.state == imagePresent
}

// WithDefaultTag appends ":latest" where neither tag nor digest is given; nothing
// else about the name changes, no registry is added (A-IMG-1). The error says in
// Kubernetes' words why the name can't be parsed; the container's reason is then
// InvalidImageName.
func WithDefaultTag(image string) (string, error) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return "", fmt.Errorf("couldn't parse image name %q: %w", image, err)
	}
	if reference.IsNameOnly(named) {
		return image + ":latest", nil
	}
	return image, nil
}

func invalidImageName(s *step, c *container, err error) {
	text := fmt.Sprintf("Failed to apply default image tag %q: %v", c.spec.Image, err)
	imageRefused(s, c, "InspectFailed", Failure{Reason: "InvalidImageName", Message: text})
	c.image.retryAt = s.now.Add(s.options.RetryAfter)
}

// imageRefused files why there is no image and records the event of that reason.
func imageRefused(s *step, c *container, eventReason string, f Failure) {
	c.image.state, c.image.refused = imageNeeded, &f
	s.do(RecordEvent{Type: warning, Reason: eventReason, Message: f.Message, FieldPath: c.fieldPath()})
	s.do(RecordEvent{Type: warning, Reason: "Failed", Message: "Error: " + f.Reason, FieldPath: c.fieldPath()})
	tell(s, Report{Subject: c.spec.Name, What: f.Reason + ": " + f.Message, Rule: "A-IMG-2"})
}

func (s *step) containerPulling(op EffectID, state imageState) *container {
	for _, c := range s.containers {
		if op != 0 && c.image.op == op && c.image.state == state {
			return c
		}
	}
	return nil
}

func applyImageInspected(s *step, f ImageInspected) {
	c := s.containerPulling(f.ID, imageInspecting)
	if c == nil {
		return
	}
	c.image.op = 0
	name, _ := WithDefaultTag(c.spec.Image)
	switch {
	case f.Failure != nil:
		imageRefused(s, c, "InspectFailed", Failure{
			Class: f.Failure.Class, Reason: "ImageInspectError",
			Message: fmt.Sprintf("Failed to inspect image %q: %s", c.spec.Image, f.Failure.Message),
		})
		c.image.retryAt = s.now.Add(s.retryAfter(f.Failure))
	case f.Image != nil:
		present(s, c, *f.Image, fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", c.spec.Image))
	case c.spec.ImagePullPolicy == v1.PullNever:
		imageRefused(s, c, "ErrImageNeverPull", Failure{
			Reason:  "ErrImageNeverPull",
			Message: fmt.Sprintf("Container image %q is not present with pull policy of Never", c.spec.Image),
		})
		c.image.retryAt = s.now.Add(s.options.RetryAfter)
	default:
		pull(s, c, name)
	}
}

func present(s *step, c *container, info ImageInfo, text string) {
	c.image = image{state: imagePresent, info: info}
	s.do(RecordEvent{Type: normal, Reason: "Pulled", Message: text, FieldPath: c.fieldPath()})
}

// pull begins a pull, unless the image is in back-off (A-IMG-5): the failure
// before it is then shown as ImagePullBackOff and the pull comes at its expiry.
func pull(s *step, c *container, name string) {
	if b := s.imageBack[c.spec.Image]; b != nil {
		if until := b.from.Add(b.delay); s.now.Before(until) {
			imageBackOff(s, c, until)
			return
		}
	}
	c.image.state, c.image.op, c.image.since = imagePulling, s.nextID(), s.now
	s.do(RecordEvent{Type: normal, Reason: "Pulling", Message: fmt.Sprintf("Pulling image %q", c.spec.Image), FieldPath: c.fieldPath()})
	s.do(PullImage{ID: c.image.op, Container: c.spec.Name, Image: name})
	tell(s, Report{Subject: c.spec.Name, What: "pulling image " + c.spec.Image, Rule: "A-IMG-4"})
}

func imageBackOff(s *step, c *container, until time.Time) {
	text := fmt.Sprintf("Back-off pulling image %q", c.spec.Image)
	s.do(RecordEvent{Type: normal, Reason: "BackOff", Message: text, FieldPath: c.fieldPath()})
	s.do(RecordEvent{Type: warning, Reason: "Failed", Message: "Error: ImagePullBackOff", FieldPath: c.fieldPath()})
	if r := c.image.refused; r != nil && r.Reason != "ImagePullBackOff" {
		text += ": " + r.Reason + ": " + r.Message
	}
	c.image.state = imageNeeded
	c.image.refused = &Failure{Reason: "ImagePullBackOff", Message: text}
	c.image.retryAt = until
	s.due(until)
	tellRetry(s, c.spec.Name, "ImagePullBackOff", until, "A-IMG-5")
}

func applyImagePulled(s *step, f ImagePulled) {
	c := s.containerPulling(f.ID, imagePulling)
	if c == nil {
		return
	}
	c.image.op = 0
	if f.Failure != nil {
		pullFailed(s, c, f.Failure)
		return
	}
	waited := s.now.Sub(c.image.since).Truncate(time.Millisecond)
	took := f.Took.Truncate(time.Millisecond)
	tell(s, Report{Subject: c.spec.Name, What: fmt.Sprintf("pulled image %s in %v", c.spec.Image, took), Rule: "A-IMG-4"})
	present(s, c, *f.Image, fmt.Sprintf("Successfully pulled image %q in %v (%v including waiting). Image size: %v bytes.",
		c.spec.Image, took, waited, f.Image.SizeBytes))
}

// advanceImage moves an image along its back-off curve (A-IMG-5). Containers
// that pull the same image at the same time make one attempt together.
func advanceImage(s *step, c *container) backOff {
	b := s.imageBack[c.spec.Image]
	switch {
	case b == nil || s.now.Sub(b.from) > s.options.ImageBackOff.Reset:
		b = &backOff{}
		s.imageBack[c.spec.Image] = b
	case !c.image.since.After(b.from):
		return *b
	}
	*b = backOff{delay: s.options.ImageBackOff.next(b.delay), from: s.now}
	return *b
}

// pullFailed advances the image's back-off. The reason of the failure is shown
// first; when it is looked at again and still in back-off, ImagePullBackOff.
func pullFailed(s *step, c *container, f *Failure) {
	if f.Class == Cancelled {
		c.image.state = imageNeeded
		return
	}
	b := advanceImage(s, c)
	reason := f.Reason
	if reason == "" {
		reason = "ErrImagePull"
	}
	text := fmt.Sprintf("Failed to pull image %q: %s", c.spec.Image, cmp.Or(f.Detail, f.Message))
	s.do(RecordEvent{Type: warning, Reason: "Failed", Message: text, FieldPath: c.fieldPath()})
	s.do(RecordEvent{Type: warning, Reason: "Failed", Message: "Error: " + reason, FieldPath: c.fieldPath()})
	c.image.state = imageNeeded
	c.image.refused = &Failure{Class: f.Class, Reason: reason, Message: f.Message}
	c.image.retryAt = s.now.Add(min(b.delay, s.options.RetryAfter))
	s.due(c.image.retryAt)
	tellRetry(s, c.spec.Name, reason+": "+f.Message, b.from.Add(b.delay), "A-IMG-5")
}
