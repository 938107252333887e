package register

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/version"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	// askTimeout bounds a question to the runtime.
	askTimeout = 10 * time.Second
	// slowGrace is how long a runtime that is there, but doesn't answer in time or
	// answers with an error, leaves the node Ready: as long as with the kubelet.
	// It may just be busy.
	slowGrace = 30 * time.Second
)

var (
	errRuntimeUnknown = errors.New("container runtime status check may not have completed yet")
	errRuntimeDown    = errors.New("container runtime is down")
	errNetworkUnknown = errors.New("network state unknown")
)

// runtimeState is what is known of the container runtime. It keeps what was
// known before when the runtime doesn't answer.
type runtimeState struct {
	answered bool
	version  string // name://version
	handlers []v1.NodeRuntimeHandler
	features *runtimeapi.RuntimeFeatures

	runtimeErr, networkErr error
	// failingSince is when the runtime stopped answering, down when that makes
	// the node not Ready; zero while it answers.
	failingSince, down time.Time
}

// ask asks the runtime for its status, and for its version whenever it may be a
// new one. A failure is counted as lost after grace, or slowGrace.
func (s *runtimeState) ask(ctx context.Context, runtime RuntimeService, grace time.Duration) error {
	ctx, done := context.WithTimeout(ctx, askTimeout)
	defer done()
	response, err := runtime.Status(ctx, &runtimeapi.StatusRequest{})
	if err != nil {
		if status.Code(err) != codes.Unavailable {
			grace = max(grace, slowGrace)
		}
		s.failed(time.Now(), grace)
		return fmt.Errorf("ask the container runtime for its status: %w", err)
	}
	if s.version == "" || !s.failingSince.IsZero() {
		who, err := runtime.Version(ctx, &runtimeapi.VersionRequest{})
		if err == nil {
			s.version = who.GetRuntimeName() + "://" + plainVersion(who.GetRuntimeVersion())
		}
	}
	s.take(response)
	return nil
}

// plainVersion is a version as a Node has it, without the v that some write
// before it.
func plainVersion(text string) string {
	if semantic, err := version.ParseSemantic(text); err == nil {
		return semantic.String()
	}
	if generic, err := version.ParseGeneric(text); err == nil {
		return generic.String()
	}
	return text
}

// failed notes that the runtime doesn't answer; the node is not Ready any more
// grace after that began.
func (s *runtimeState) failed(now time.Time, grace time.Duration) {
	if s.failingSince.IsZero() {
		s.failingSince = now
	}
	if down := s.failingSince.Add(grace); s.down.IsZero() || down.Before(s.down) {
		s.down = down
	}
}

// take notes an answer. As with the kubelet, a runtime that says it isn't ready
// keeps the handlers and features it had.
func (s *runtimeState) take(response *runtimeapi.StatusResponse) {
	s.failingSince, s.down = time.Time{}, time.Time{}
	conditions := response.GetStatus().GetConditions()
	s.networkErr = conditionError(conditions, runtimeapi.NetworkReady, "container runtime network not ready")
	s.runtimeErr = conditionError(conditions, runtimeapi.RuntimeReady, "container runtime not ready")
	if s.runtimeErr != nil {
		return
	}
	s.answered = true
	s.features = response.GetFeatures()
	s.handlers = nil
	for _, h := range response.GetRuntimeHandlers() {
		recursive, users := h.GetFeatures().GetRecursiveReadOnlyMounts(), h.GetFeatures().GetUserNamespaces()
		s.handlers = append(s.handlers, v1.NodeRuntimeHandler{
			Name:     h.GetName(),
			Features: &v1.NodeRuntimeHandlerFeatures{RecursiveReadOnlyMounts: &recursive, UserNamespaces: &users},
		})
	}
	slices.SortFunc(s.handlers, func(a, b v1.NodeRuntimeHandler) int { return strings.Compare(a.Name, b.Name) })
}

// conditionError is what a condition of the runtime that isn't true adds to the
// message of the node's Ready.
func conditionError(conditions []*runtimeapi.RuntimeCondition, name, what string) error {
	for _, c := range conditions {
		if c.GetType() != name {
			continue
		}
		if c.GetStatus() {
			return nil
		}
		return fmt.Errorf("%s: %s=%t reason:%s message:%s", what, c.GetType(), c.GetStatus(), c.GetReason(), c.GetMessage())
	}
	return fmt.Errorf("%s: <nil>", what)
}

// notReady are the reasons of the runtime and of its network not to be Ready.
func (s *runtimeState) notReady(now time.Time) (runtime, network error) {
	var errs []error
	switch {
	case !s.answered:
		errs = append(errs, errRuntimeUnknown)
	case !s.down.IsZero() && !now.Before(s.down):
		errs = append(errs, errRuntimeDown)
	}
	network = s.networkErr
	if !s.answered && network == nil {
		network = errNetworkUnknown
	}
	return utilerrors.NewAggregate(append(errs, s.runtimeErr)), network
}
