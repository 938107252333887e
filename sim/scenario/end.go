package scenario

// Calls are the calls of the runtime, and other work, that a scenario may change.
var Calls = []string{
	"CreateContainer", "CreateSandbox", "EnsureCgroup", "InspectImage", "MeasureStorage", "MountVolumes", "Observe", "PrepareClaims", "Probe", "PullImage",
	"RefreshVolumes", "RemoveCgroup", "RemoveContainer", "RemoveSandbox", "RunHook", "StartContainer", "StopContainer", "StopSandbox", "UnmountVolumes",
	"UnprepareClaims",
}

// CallsOfContainers are those of them that are about one container each.
var CallsOfContainers = []string{"CreateContainer", "InspectImage", "Probe", "PullImage", "RemoveContainer", "RunHook", "StartContainer", "StopContainer"}

// Signals that may end a process, as exit codes say them.
var Signals = map[string]int32{
	"SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGILL": 4, "SIGTRAP": 5, "SIGABRT": 6, "SIGBUS": 7, "SIGFPE": 8, "SIGKILL": 9, "SIGUSR1": 10, "SIGSEGV": 11,
	"SIGUSR2": 12, "SIGPIPE": 13, "SIGALRM": 14, "SIGTERM": 15,
}

// Ends says whether it is said how its process ends by itself.
func (r *Run) Ends() bool { return r.Exit != nil || r.Signal != "" || r.OOM }

// End is the exit code of a run, and the runtime's reason.
func (r *Run) End() (code int32, reason string) {
	switch {
	case r.OOM:
		return 137, "OOMKilled"
	case r.Signal != "":
		return 128 + Signals[r.Signal], "Error"
	case r.Exit != nil:
		code = *r.Exit
	}
	return code, ReasonOf(code)
}

// ReasonOf is the runtime's reason of an exit code.
func ReasonOf(code int32) string {
	if code == 0 {
		return "Completed"
	}
	return "Error"
}
