package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/podlog"
)

// Limits of termination messages (A-CST-14).
const (
	maxTerminationMessage = 4096
	maxPodMessages        = 12288
	fallbackLines         = 80
	fallbackBytes         = 2048
)

// describeExit returns the exit in a container's status, with the termination message
// from the pod's files.
func (h *executor) describeExit(status *runtimeapi.ContainerStatus) lifecycle.ContainerExited {
	return lifecycle.ContainerExited{
		ContainerID: status.GetId(),
		ExitCode:    status.GetExitCode(),
		Reason:      status.GetReason(),
		Message:     h.terminationMessage(status),
		StartedAt:   cri.Time(status.GetStartedAt()),
		FinishedAt:  cri.Time(status.GetFinishedAt()),
	}
}

// terminationMessage is the runtime's message and the container's own, joined
// and cut to the container's share of the pod's budget (A-CST-14).
func (h *executor) terminationMessage(status *runtimeapi.ContainerStatus) string {
	name, attempt := status.GetMetadata().GetName(), status.GetMetadata().GetAttempt()
	file := h.terminationLogOf(status)
	own, err := podlog.FileTail(file, maxTerminationMessage)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		own = fmt.Sprintf("Error on reading termination log %s: %v", file, err)
	}
	if own == "" && h.fallsBackToLogs(name, status) {
		own = lastLines(filepath.Join(h.engine.Config.PodLogDirectory(h.pod), criconfig.ContainerLogPath(name, int(attempt))))
	}
	message := status.GetMessage()
	if message != "" && own != "" {
		message += ": "
	}
	message += own
	containers := len(h.pod.Spec.Containers) + len(h.pod.Spec.InitContainers) + len(h.pod.Spec.EphemeralContainers)
	message = strings.ToValidUTF8(message, "\uFFFD")
	return strings.ToValidUTF8(message[:min(len(message), maxPodMessages/containers)], "") // no part of a character
}

// terminationLogOf is the file of an instance's termination message: what it has
// mounted for it, which a kubelet has named in its own way (B-RST-1).
func (h *executor) terminationLogOf(status *runtimeapi.ContainerStatus) string {
	own := h.terminationLog(status.GetMetadata().GetName(), status.GetMetadata().GetAttempt())
	spec := findContainer(h.pod, status.GetMetadata().GetName())
	if spec == nil {
		return own
	}
	for _, mount := range status.GetMounts() {
		if mount.GetContainerPath() == spec.TerminationMessagePath && filepath.Dir(mount.GetHostPath()) == filepath.Dir(own) {
			return mount.GetHostPath()
		}
	}
	return own
}

func (h *executor) fallsBackToLogs(name string, status *runtimeapi.ContainerStatus) bool {
	spec := findContainer(h.pod, name)
	return spec != nil && spec.TerminationMessagePolicy == v1.TerminationMessageFallbackToLogsOnError &&
		status.GetExitCode() != 0 && status.GetReason() != "ContainerCannotRun"
}

// lastLines returns the last lines that the container wrote, without the CRI log's
// prefixes, and with lines that the runtime divided joined again. They may begin in a
// rotated file (B-LOG-2).
func lastLines(path string) string {
	records := written(path, 16*fallbackBytes)
	text := recordsText(records[max(0, len(records)-fallbackLines):])
	return text[max(0, len(text)-fallbackBytes):]
}

// written is what the last bytes of a log say that the container wrote, in lines or parts of
// them.
func written(path string, bytes int64) (records []podlog.Record) {
	tail, err := podlog.Tail(path, bytes)
	if err != nil && tail == "" {
		return nil
	}
	for line := range strings.Lines(tail) {
		if record, ok := podlog.Parse(line); ok {
			records = append(records, record)
		}
	}
	return records
}

func recordsText(records []podlog.Record) string {
	var b strings.Builder
	for _, r := range records {
		b.WriteString(r.Text)
	}
	return b.String()
}

// saidBytes is how much of a line is kept with an end.
const saidBytes = 512

// said is the last line that a process wrote, of those that are not empty: to stderr, if it wrote there in the last second. The
// runtime reads both streams beside each other, so that their order in the log says nothing.
func said(records []podlog.Record) string {
	var out, err podlog.Record
	parts := map[string]string{}
	for _, r := range records {
		parts[r.Stream] += r.Text
		last := &out
		if r.Stream == "stderr" {
			last = &err
		}
		if text := strings.TrimSpace(parts[r.Stream]); text != "" {
			*last = podlog.Record{Time: r.Time, Text: text}
		}
		if !r.Partial {
			parts[r.Stream] = ""
		}
	}
	line := err.Text
	if line == "" || out.Time.Sub(err.Time) > time.Second {
		line = out.Text
	}
	return strings.ToValidUTF8(line[:min(len(line), saidBytes)], "")
}
