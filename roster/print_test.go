package roster

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// effectText is an effect as transcripts show it.
func effectText(effect Effect) string {
	switch e := effect.(type) {
	case Begin:
		return "Begin " + string(e.Pod.UID)
	case Refuse:
		return fmt.Sprintf("Refuse %s %s: %s", e.Pod.UID, e.Why.Reason, e.Why.Message)
	case Resume:
		return "Resume " + string(e.Pod.UID)
	case Adopt:
		return adoptText(e)
	case Tell:
		return fmt.Sprintf("Tell %s %s", e.UID, factOfLifeText(e.Fact))
	case Know:
		return knowText(e)
	case Drop:
		return "Drop " + string(e.UID)
	case Look:
		return "Look " + string(e.Pod.UID)
	case ReadNode:
		return "ReadNode for " + string(e.UID)
	case Allocate:
		return "Allocate " + string(e.Pod.UID)
	case Release:
		return "Release " + string(e.UID)
	case Recall:
		return "Recall " + string(e.UID)
	case Forget:
		return "Forget " + string(e.UID)
	case Discard:
		return "Discard " + string(e.Pod.UID)
	case DeleteObject:
		return strings.TrimSpace(fmt.Sprintf("DeleteObject %s %s", e.Pod.UID, e.Status.Phase))
	case AllHeard:
		return "AllHeard"
	case RecordBoot:
		return "RecordBoot"
	case AnswerResize:
		if e.Refusal == nil {
			return fmt.Sprintf("AnswerResize %d: there is room", e.ID)
		}
		return fmt.Sprintf("AnswerResize %d: %s: %s", e.ID, e.Refusal.Reason, e.Refusal.Message)
	case AnnounceShutdown:
		if e.Cancelled {
			return "AnnounceShutdown, cancelled"
		}
		return "AnnounceShutdown"
	case FlushStatuses:
		return "FlushStatuses until " + clockText(e.Until)
	case ReleaseInhibitor:
		return "ReleaseInhibitor"
	case TakeInhibitor:
		return "TakeInhibitor"
	case WakeAt:
		return "WakeAt " + clockText(e.At)
	case PodEvent:
		return fmt.Sprintf("PodEvent %s %s %s: %s", e.Pod.UID, e.Event.Type, e.Event.Reason, e.Event.Message)
	case Measure, Reclaim, MeasurePods, SetConditions, NodeEvent, Evicted, Preempted:
		return evictionText(e)
	case Report:
		mark := "»"
		if e.Warning {
			mark = "!"
		}
		if e.Rule == "" {
			return mark + " " + e.String()
		}
		return fmt.Sprintf("%s %s  [%s]", mark, e.String(), e.Rule)
	}
	return fmt.Sprintf("%T has no text", effect)
}

// evictionText is an effect that is to give the node back what it runs short of.
func evictionText(effect Effect) string {
	switch e := effect.(type) {
	case Measure:
		return "Measure"
	case Reclaim:
		return strings.TrimSuffix("Reclaim "+map[bool]string{true: "containers "}[e.Containers]+map[bool]string{true: "images"}[e.Images], " ")
	case MeasurePods:
		return "MeasurePods for " + string(e.Signal)
	case SetConditions:
		return fmt.Sprintf("SetConditions %v", e.Conditions)
	case NodeEvent:
		return fmt.Sprintf("NodeEvent %s %s: %s", e.Type, e.Reason, e.Message)
	case Evicted:
		return fmt.Sprintf("Evicted for %v", e.Signals)
	case Preempted:
		return "Preempted for " + string(e.Missing)
	}
	return ""
}

func adoptText(e Adopt) string {
	has := "nothing in the runtime"
	if n := len(e.Has.Sandboxes); n > 0 {
		has = "what the runtime has"
	}
	if e.Pod.Status.Phase == "" {
		return fmt.Sprintf("Adopt %s with %s", e.Pod.UID, has)
	}
	return fmt.Sprintf("Adopt %s %s with %s", e.Pod.UID, e.Pod.Status.Phase, has)
}

func knowText(e Know) string {
	switch {
	case e.Again:
		return fmt.Sprintf("Know %s again", e.Pod.UID)
	case e.Before != nil:
		return fmt.Sprintf("Know %s as it is now", e.Pod.UID)
	}
	return fmt.Sprintf("Know %s from %s", e.Pod.UID, e.Source)
}

// factOfLifeText is what a worker is told.
func factOfLifeText(fact lifecycle.Fact) string {
	switch f := fact.(type) {
	case lifecycle.StopRequested:
		if f.GraceSeconds != nil {
			return fmt.Sprintf("StopRequested grace=%d", *f.GraceSeconds)
		}
		return "StopRequested"
	case lifecycle.EvictionRequested:
		if f.GraceSeconds != nil {
			return fmt.Sprintf("EvictionRequested %s grace=%d: %s", f.Reason, *f.GraceSeconds, f.Message)
		}
		return "EvictionRequested " + f.Reason
	case lifecycle.PodUpdated:
		if f.Pod.DeletionTimestamp != nil {
			return "PodUpdated, which is being deleted"
		}
		return "PodUpdated"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", fact), "lifecycle.")
}

func clockText(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return "+" + strconv.FormatFloat(t.Sub(start).Seconds(), 'f', -1, 64) + "s"
}

// placeText is where a pod stands.
func placeText(m *Machine, pod *v1.Pod) string {
	view, known := m.PodByUID(pod.UID)
	if !known {
		return "not known"
	}
	text := view.Position.String()
	if view.Position == Waiting {
		text += " for " + string(view.Reason)
	}
	if !view.Wanted {
		text += ", not wanted"
	}
	if view.Evicted {
		text += ", evicted"
	}
	return text
}
