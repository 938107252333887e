package worker

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.17.0"
	"go.opentelemetry.io/otel/trace"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// podSpan is what a pod goes through from one fact until nothing of what followed from it
// is under way any more. It is a span, and each of its effects a span below it (A-TRC-5).
// A pod that terminates does so in one span (A-TRC-6). The worker's goroutine owns it.
type podSpan struct {
	tracer   trace.Tracer   // nil: nothing is traced
	cause    lifecycle.Fact // what the machine has learned last
	stage    lifecycle.Stage
	span     trace.Span                  // nil: nothing is under way
	underWay map[lifecycle.EffectID]bool // what the span waits for
}

// spanNames are the kubelet's.
var spanNames = [...]string{
	lifecycle.Syncing: "syncPod", lifecycle.Terminating: "syncTerminatingPod", lifecycle.Terminated: "syncTerminatedPod", lifecycle.Gone: "syncTerminatedPod",
}

// learned notes a fact, and the stage that the pod is in because of it; its effects follow.
func (s *podSpan) learned(fact lifecycle.Fact, stage lifecycle.Stage) {
	if s.tracer == nil {
		return
	}
	if stage != s.stage {
		s.end()
	}
	s.cause, s.stage = fact, stage
	result := resultOf(fact)
	if s.underWay[result.ID] {
		fail(s.span, result.Failure)
		delete(s.underWay, result.ID)
	}
}

// resultOf is what has become of the effect that a fact answers; empty if it answers none.
func resultOf(fact lifecycle.Fact) (r lifecycle.Result) {
	if answer, is := fact.(interface{ Answered() lifecycle.Result }); is {
		r = answer.Answered()
	}
	return r
}

// rests ends the span if nothing is under way. A pod that terminates may wait for an
// exit, or to try again.
func (s *podSpan) rests() {
	if len(s.underWay) == 0 && s.stage != lifecycle.Terminating {
		s.end()
	}
}

// end ends the span, whatever is under way.
func (s *podSpan) end() {
	if s.span != nil {
		s.span.End()
		s.span, s.underWay = nil, nil
	}
}

// waits has the span go on until an effect is answered; 0 is none.
func (s *podSpan) waits(ctx context.Context, pod *v1.Pod, id lifecycle.EffectID) {
	if s.tracer == nil || id == 0 {
		return
	}
	if s.span == nil {
		_, s.span = s.tracer.Start(ctx, spanNames[s.stage], trace.WithAttributes(ofPod(pod)...), trace.WithAttributes(s.why()...))
		s.underWay = map[lifecycle.EffectID]bool{}
	}
	s.underWay[id] = true
}

// why says what the span is for.
func (s *podSpan) why() []attribute.KeyValue {
	update := "sync"
	switch s.cause.(type) {
	case lifecycle.Accepted:
		update = "create"
	case lifecycle.PodUpdated:
		update = "update"
	}
	return []attribute.KeyValue{attribute.String("k8s.pod.update_type", update), attribute.String("lifepod.fact", typeOf{s.cause}.name())}
}

// within is the context of an effect, with its span, which whoever carries it out has to
// end. The span is nil for one that isn't traced: what comes again and again of a pod that
// only runs.
func (s *podSpan) within(ctx context.Context, pod *v1.Pod, effect lifecycle.Effect) (context.Context, trace.Span) {
	switch effect.(type) {
	case lifecycle.Probe, lifecycle.MeasureStorage:
		return ctx, nil
	}
	if s.tracer == nil || effect.EffectID() == 0 {
		return ctx, nil
	}
	s.waits(ctx, pod, effect.EffectID())
	return s.tracer.Start(trace.ContextWithSpan(ctx, s.span), typeOf{effect}.name(), trace.WithAttributes(ofPod(pod)...), trace.WithAttributes(ofEffect(effect)...))
}

// endSpan ends the span of an effect that was answered; nil is none.
func endSpan(span trace.Span, answer lifecycle.Fact) {
	if span != nil {
		fail(span, resultOf(answer).Failure)
		span.End()
	}
}

// fail says that a span has failed; what was given up has not.
func fail(span trace.Span, failure *lifecycle.Failure) {
	if failure != nil && failure.Class != lifecycle.Cancelled {
		span.RecordError(errors.New(failure.Message))
		span.SetStatus(codes.Error, failure.Message)
	}
}

func ofPod(pod *v1.Pod) []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.K8SPodUID(string(pod.UID)), attribute.String("k8s.pod", pod.Namespace+"/"+pod.Name), semconv.K8SPodName(pod.Name), semconv.K8SNamespaceName(pod.Namespace),
	}
}

// ofEffect are the container and the image that an effect is about.
func ofEffect(effect lifecycle.Effect) []attribute.KeyValue {
	var container, image string
	switch e := effect.(type) {
	case lifecycle.InspectImage:
		container, image = e.Container, e.Image
	case lifecycle.PullImage:
		container, image = e.Container, e.Image
	case lifecycle.CreateContainer:
		container = e.Container
	case lifecycle.StartContainer:
		container = e.Container
	case lifecycle.StopContainer:
		container = e.Container
	case lifecycle.RemoveContainer:
		container = e.Container
	case lifecycle.RunHook:
		container = e.Container
	case lifecycle.ResizeContainer:
		container = e.Container
	}
	var list []attribute.KeyValue
	if container != "" {
		list = append(list, semconv.K8SContainerName(container))
	}
	if image != "" {
		list = append(list, semconv.ContainerImageName(image))
	}
	return list
}
