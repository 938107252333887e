package lifecycle

import (
	"fmt"
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
)

func effectName(e Effect) string { return reflect.TypeOf(e).Name() }

// effectText is an effect as transcripts show it: without its ID.
func effectText(e Effect) string {
	switch e := e.(type) {
	case Tell:
		return fmt.Sprintf("» %s  [%s]", e.Report, e.Report.Rule)
	case RecordEvent:
		object := e.FieldPath
		if object == "" {
			object = "pod"
		}
		return fmt.Sprintf("event %s %s %q %s", e.Type, e.Reason, e.Message, object)
	case CountEviction:
		return "CountEviction " + e.Signal
	case MeasureStorage:
		return fmt.Sprintf("MeasureStorage volumes=%v containers=%t", e.Volumes, e.Containers)
	case UnmountVolumes:
		if e.KeepLogs {
			return "UnmountVolumes, logs stay"
		}
		return "UnmountVolumes"
	case CreateSandbox:
		return fmt.Sprintf("CreateSandbox attempt=%d", e.Attempt)
	case StopSandbox:
		return "StopSandbox " + e.SandboxID
	case RemoveSandbox:
		return "RemoveSandbox " + e.SandboxID
	case InspectImage:
		return fmt.Sprintf("InspectImage %s %s", fetch{container: e.Container, volume: e.Volume}.subject(), e.Image)
	case PullImage:
		return fmt.Sprintf("PullImage %s %s", fetch{container: e.Container, volume: e.Volume}.subject(), e.Image)
	case CreateContainer:
		text := fmt.Sprintf("CreateContainer %s attempt=%d", e.Container, e.Attempt)
		for _, v := range e.Volumes {
			text += fmt.Sprintf(" %s=%s", v.Volume, v.Image.ID)
		}
		if e.TargetID != "" {
			text += " target=" + e.TargetID
		}
		return text
	case StartContainer:
		return fmt.Sprintf("StartContainer %s %s", e.Container, e.ContainerID)
	case StopContainer:
		return fmt.Sprintf("StopContainer %s %s timeout=%ds", e.Container, e.ContainerID, e.TimeoutSeconds)
	case RemoveContainer:
		return fmt.Sprintf("RemoveContainer %s %s", e.Container, e.ContainerID)
	case Probe:
		return fmt.Sprintf("Probe %s %s", e.Container, e.Kind)
	case RunHook:
		return fmt.Sprintf("RunHook %s %s", e.Container, e.Hook)
	case ResizeContainer:
		return fmt.Sprintf("ResizeContainer %s %s %s", e.Container, e.ContainerID, resourcesText(neverFails{}, e.Resources))
	case ResizeCgroup:
		return "ResizeCgroup " + roomText(e.Room)
	case EnsureCgroup:
		return strings.TrimSuffix("EnsureCgroup "+roomText(e.Room), " ")
	}
	return effectName(e)
}

func (tr *transcript) printStatus() {
	status := tr.m.Status()
	tr.printf("phase=%s", status.Phase)
	if status.Reason != "" {
		tr.printf(" reason=%s message=%q", status.Reason, status.Message)
	}
	tr.printf(" stage=%s ip=%s\n", tr.m.Stage(), status.PodIP)
	for _, c := range status.Conditions {
		tr.printf("  %s=%s", c.Type, c.Status)
		if c.Reason != "" {
			tr.printf(" %s", c.Reason)
		}
		if c.Message != "" {
			tr.printf(" %q", c.Message)
		}
		tr.printf("\n")
	}
	for _, list := range [][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses} {
		for _, c := range list {
			started := "unset"
			if c.Started != nil {
				started = fmt.Sprint(*c.Started)
			}
			tr.printf("  %s: %s ready=%t started=%s restarts=%d%s%s\n",
				c.Name, stateText(c.State), c.Ready, started, c.RestartCount, lastText(c.LastTerminationState), devicesText(c.AllocatedResourcesStatus))
		}
	}
}

func lastText(s v1.ContainerState) string {
	if s.Terminated == nil {
		return ""
	}
	return " last=" + stateText(s)
}

func stateText(s v1.ContainerState) string {
	var b strings.Builder
	switch {
	case s.Running != nil:
		b.WriteString("running")
	case s.Terminated != nil:
		fmt.Fprintf(&b, "terminated %d %s", s.Terminated.ExitCode, s.Terminated.Reason)
		if s.Terminated.Message != "" {
			fmt.Fprintf(&b, " %q", s.Terminated.Message)
		}
	case s.Waiting != nil:
		fmt.Fprintf(&b, "waiting %s", s.Waiting.Reason)
		if s.Waiting.Message != "" {
			fmt.Fprintf(&b, " %q", s.Waiting.Message)
		}
	}
	return b.String()
}
