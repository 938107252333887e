package lifecycle

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/distribution/reference"
	v1 "k8s.io/api/core/v1"
)

// image is how far the image for a container's next start has come.
type image struct {
	Present bool      `json:"present,omitzero"`
	Info    ImageInfo `json:"info,omitzero"`
	Refused *Failure  `json:"refused,omitempty"` // why it is not present yet; cleared by success
	RetryAt time.Time `json:"retryAt,omitzero"`  // earliest next attempt

	fetching
}

// fetching is an inspection or a pull under way; on resume it is asked for again.
type fetching struct {
	op    EffectID  // 0: none
	pull  bool      // else an inspection
	since time.Time // when the pull was asked for
}

// fetch is an image that a container or an image volume of the pod needs, with its state.
type fetch struct {
	*image
	reference string // as written
	policy    v1.PullPolicy
	container string // the container that needs it; empty for a volume's
	volume    string
	of        *container // the same; nil for a volume's
}

func (c *container) fetch() fetch {
	return fetch{
		image: &c.Image, reference: c.spec.Image, policy: c.spec.ImagePullPolicy,
		container: c.spec.Name, of: c,
	}
}

// fieldPath is what its events point at: those of a volume at the pod.
func (f fetch) fieldPath() string {
	if f.of == nil {
		return ""
	}
	return f.of.fieldPath()
}

// subject is its name in the pod's story.
func (f fetch) subject() string {
	if f.volume != "" {
		return "volume " + f.volume
	}
	return f.container
}

// planImages fetches the images of all containers that have not run yet, all at once and
// in parallel to the sandbox's creation. In a restart of all containers it fetches those
// of the next instances while the current ones end; not in a graceful one, because the
// image may change during the grace.
func planImages(s *step) {
	for _, c := range s.containers {
		if c.Position == absent || s.restartAll.Active && !s.restartAll.Graceful && c.restartsWithAll() {
			ensureImages(s, c)
		}
	}
}

// askImageAnew makes the next start ask for its image again (A-IMG-2). A fetch under way
// is still needed and is not repeated.
func askImageAnew(c *container) {
	if c.Image.op == 0 {
		c.Image = image{Info: c.Image.Info}
	}
}

// ensureImage takes the next step towards an image and reports whether it is present
// (A-IMG-2). Each restart asks again.
func ensureImage(s *step, f fetch) bool {
	if !f.Present && f.op == 0 && s.due(f.RetryAt) {
		name, err := s.withDefaultTag(f.reference)
		switch {
		case err != nil:
			invalidImageName(s, f, err)
		case f.policy == v1.PullAlways:
			pull(s, f, name)
		default:
			f.op, f.pull = s.nextID(), false
			s.do(InspectImage{ID: f.op, Container: f.container, Volume: f.volume, Image: name})
		}
	}
	return f.Present
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

func invalidImageName(s *step, f fetch, err error) {
	text := fmt.Sprintf("Failed to apply default image tag %q: %v", f.reference, err)
	imageRefused(s, f, "InspectFailed", Failure{Reason: "InvalidImageName", Message: text}, Because{})
	f.RetryAt = s.now.Add(s.options.RetryAfter)
}

// imageRefused files why there is no image and records the event of that reason.
func imageRefused(s *step, f fetch, eventReason string, why Failure, because Because) {
	f.Refused = &why
	s.do(RecordEvent{Type: warning, Reason: eventReason, Message: why.Message, FieldPath: f.fieldPath()})
	s.do(RecordEvent{Type: warning, Reason: "Failed", Message: "Error: " + why.Reason, FieldPath: f.fieldPath()})
	tell(s, Report{Subject: f.subject(), Kind: KindImageFailed, Reason: why.Reason, Message: why.Message, Because: because, Rule: "A-IMG-2", Again: true, Blocks: why.blocks()})
}

// fetchOf finds the fetch that waits for that effect.
func (s *step) fetchOf(op EffectID, pull bool) (fetch, bool) {
	for f := range s.fetches {
		if op != 0 && f.op == op && f.pull == pull {
			return f, true
		}
	}
	return fetch{}, false
}

// fetches are those of all containers and image volumes.
func (s *step) fetches(yield func(fetch) bool) {
	for _, c := range s.containers {
		if !yield(c.fetch()) {
			return
		}
	}
	for _, v := range s.imageVolumes {
		if !yield(v.fetch()) {
			return
		}
	}
}

func (answer ImageInspected) apply(s *step) {
	f, found := s.fetchOf(answer.ID, false)
	if !found {
		return
	}
	f.op = 0
	name, _ := s.withDefaultTag(f.reference)
	switch {
	case answer.Failure != nil:
		imageRefused(s, f, "InspectFailed", Failure{
			Class: answer.Failure.Class, Reason: "ImageInspectError",
			Message: fmt.Sprintf("Failed to inspect image %q: %s", f.reference, answer.Failure.Message),
		}, Because{})
		f.RetryAt = s.now.Add(s.retryAfter(answer.Failure))
	case answer.Image != nil:
		present(s, f, *answer.Image, "Container image "+strconv.Quote(f.reference)+" already present on machine and can be accessed by the pod")
	case f.policy == v1.PullNever:
		imageRefused(s, f, "ErrImageNeverPull", Failure{
			Reason:  "ErrImageNeverPull",
			Message: fmt.Sprintf("Container image %q is not present with pull policy of Never", f.reference),
		}, localImage(answer.LocalName))
		f.RetryAt = s.now.Add(s.options.RetryAfter)
	default:
		pull(s, f, name)
	}
}

func present(s *step, f fetch, info ImageInfo, text string) {
	*f.image = image{Present: true, Info: info}
	s.do(RecordEvent{Type: normal, Reason: "Pulled", Message: text, FieldPath: f.fieldPath()})
}

// pull begins a pull, unless the image is in back-off (A-IMG-5): then the previous
// failure is shown as ImagePullBackOff, and the pull begins when the back-off ends.
func pull(s *step, f fetch, name string) {
	b := s.kept.ImageBack[f.reference]
	if until := b.From.Add(b.Delay); s.now.Before(until) {
		imageBackOff(s, f, until)
		return
	}
	f.fetching = fetching{op: s.nextID(), pull: true, since: s.now}
	s.do(RecordEvent{Type: normal, Reason: "Pulling", Message: fmt.Sprintf("Pulling image %q", f.reference), FieldPath: f.fieldPath()})
	s.do(PullImage{ID: f.op, Container: f.container, Volume: f.volume, Image: name})
	tell(s, Report{Subject: f.subject(), Kind: "pulling", On: f.reference, Rule: "A-IMG-4", Again: true})
}

func imageBackOff(s *step, f fetch, until time.Time) {
	text := fmt.Sprintf("Back-off pulling image %q", f.reference)
	s.do(RecordEvent{Type: normal, Reason: "BackOff", Message: text, FieldPath: f.fieldPath()})
	s.do(RecordEvent{Type: warning, Reason: "Failed", Message: "Error: ImagePullBackOff", FieldPath: f.fieldPath()})
	behind := ""
	switch r := f.Refused; {
	case r != nil && r.Reason == "ImagePullBackOff":
		behind = r.Detail
	case r != nil:
		behind = r.text()
		text += ": " + behind
	}
	f.Refused = &Failure{Reason: "ImagePullBackOff", Message: text, Detail: behind}
	f.RetryAt = until
	s.due(until)
	tellRetry(s, Report{Subject: f.subject(), Kind: "image-back-off", Rule: "A-IMG-5"}, until)
}

func (answer ImagePulled) apply(s *step) {
	f, found := s.fetchOf(answer.ID, true)
	if !found {
		return
	}
	f.op = 0
	if answer.Failure != nil {
		pullFailed(s, f, answer)
		return
	}
	waited := s.now.Sub(f.since).Truncate(time.Millisecond)
	took := answer.Took.Truncate(time.Millisecond)
	tell(s, Report{Subject: f.subject(), Kind: "pulled", On: f.reference, Span: took, Rule: "A-IMG-4"})
	present(s, f, *answer.Image, fmt.Sprintf("Successfully pulled image %q in %v (%v including waiting). Image size: %v bytes.",
		f.reference, took, waited, answer.Image.SizeBytes))
}

// advanceImage moves an image along its back-off curve (A-IMG-5). Containers that pull
// the same image at the same time count as one attempt.
func advanceImage(s *step, f fetch) BackoffPlace {
	b := s.kept.ImageBack[f.reference]
	switch {
	case s.now.Sub(b.From) > s.options.ImageBackOff.Reset:
		b.Delay = 0
	case !f.since.After(b.From):
		return b
	}
	b = BackoffPlace{Delay: s.options.ImageBackOff.Next(b.Delay), From: s.now}
	s.kept.ImageBack[f.reference] = b
	return b
}

const errImagePull = "ErrImagePull"

// pullFailed advances the image's back-off. The failure's own reason is shown first, then
// ImagePullBackOff once the image is looked at again while in back-off. Secrets that could
// not be read may be why (A-IMG-7). That the image is here, and only its policy asks a registry
// for it, is said to whoever reads the decision: the status keeps Kubernetes' words.
func pullFailed(s *step, f fetch, answer ImagePulled) {
	why := answer.Failure
	if why.Class == Cancelled {
		return
	}
	b := advanceImage(s, f)
	reason := cmp.Or(why.Reason, errImagePull)
	text := fmt.Sprintf("Failed to pull image %q: %s", f.reference, cmp.Or(why.Detail, why.Message))
	s.do(RecordEvent{Type: warning, Reason: "Failed", Message: text, FieldPath: f.fieldPath()})
	s.do(RecordEvent{Type: warning, Reason: "Failed", Message: "Error: " + reason, FieldPath: f.fieldPath()})
	if reason == errImagePull && len(answer.MissingSecrets) > 0 {
		s.do(RecordEvent{Type: warning, Reason: "FailedToRetrieveImagePullSecret", Message: fmt.Sprintf(
			"Unable to retrieve some image pull secrets (%s); attempting to pull the image may not succeed.", strings.Join(answer.MissingSecrets, ", "))})
	}
	f.Refused = &Failure{Class: why.Class, Reason: reason, Message: why.Message}
	f.RetryAt = s.now.Add(min(b.Delay, s.options.RetryAfter))
	s.due(f.RetryAt)
	report := Report{Subject: f.subject(), Kind: KindImageFailed, Reason: reason, Message: why.Message, Because: localImage(answer.LocalName), Rule: "A-IMG-5"}
	if answer.Image != nil && f.policy == v1.PullAlways {
		report.Because = Because{Kind: BecauseIsHere, Text: string(f.policy)}
		if name, _ := s.withDefaultTag(f.reference); strings.HasSuffix(name, ":latest") {
			report.Because.Kind = BecauseLatestIsHere
		}
	}
	tellBlocked(s, report, why, b.From.Add(b.Delay))
}

// localImage says by which name an image is here that was built by the name which is not.
func localImage(name string) (b Because) {
	if name != "" {
		b = Because{Kind: "image-is-local", Text: name}
	}
	return b
}
