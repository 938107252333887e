// Package doctor checks whether a machine can run pods and says what to do
// about what it finds. It changes nothing that lasts: what can only be known by
// trying is tried in a folder or network namespace that is gone afterwards.
package doctor

import (
	"context"
	"os"
	"slices"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/leftovers"
	"github.com/lifepod/lifepod/unattended"
)

// Status of a finding.
type Status string

// A Warning limits what pods can do; with an Error some or all pods fail.
const (
	OK         Status = "ok"
	Warning    Status = "warning"
	Error      Status = "error"
	NotChecked Status = "not checked"
)

// Result is what one check found.
type Result struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Found  string `json:"found"`
	// Advice says what to do about it, a step a line; empty for OK.
	Advice []string `json:"advice,omitempty"`
}

// Options say what to check beside the machine itself.
type Options struct {
	// Root is the state folder; it need not exist yet.
	Root string
	// Bridge is what pods are connected to; "" leaves the check of the forwarding
	// filter out, which concerns nothing else.
	Bridge string
	// Runtime returns the version of a runtime that is up, "" if none is meant
	// to be; nil leaves the check out.
	Runtime func(ctx context.Context) (version string, err error)
	// Crun finds this machine's crun, and tries it; nil leaves the check out.
	Crun func(ctx context.Context) (bundle.InstalledCrun, error)
	// InUse tells whether a lifepod uses the root now: what it runs is no
	// leftover then. nil means that none does.
	InUse func() (bool, error)
	// Leftovers lists what a killed lifepod left; nil leaves the check out.
	Leftovers func(ctx context.Context) ([]leftovers.Leftover, error)
	// Unattended are the pods whose lifepod has ended without them; nil leaves the check
	// out.
	Unattended func() []unattended.Pod
	// SweepCommand is what the user can run against leftovers.
	SweepCommand string
}

// Run makes every check on this machine, in the order in which a reader would
// mend things. It takes about a second at most; when ctx ends, it returns early.
func Run(ctx context.Context, options Options) []Result {
	host := Host{Files: os.DirFS("/"), System: linux{}}
	checks := []func(Host) Result{
		checkKernel, checkPrivileges, checkNamespaces, checkSeccomp, checkCgroups, checkOverlay,
		checkHostsFile, checkBridge, checkNAT, checkBridgeFilter, checkForwarding, checkInotify, checkMemory, checkClock,
	}
	var results []Result
	for _, check := range checks {
		if ctx.Err() != nil {
			return results
		}
		results = append(results, check(host))
	}
	if options.Bridge != "" {
		results = append(results, checkForward(host, options.Bridge))
	}
	results = append(results, checkStateFolder(host, options.Root), checkDisk(host, options.Root))
	if options.Runtime != nil {
		results = append(results, checkRuntime(ctx, options))
	}
	if options.Crun != nil {
		results = append(results, checkCrun(ctx, host, options))
	}
	if options.Unattended != nil {
		results = append(results, checkUnattended(host, options))
	}
	if options.Leftovers != nil {
		results = append(results, checkLeftovers(ctx, host, options))
	}
	return results
}

// Unchecked tells whether some check could not be made.
func Unchecked(results []Result) bool {
	return slices.ContainsFunc(results, func(r Result) bool { return r.Status == NotChecked })
}

// Failed tells whether any of the results is an Error.
func Failed(results []Result) bool {
	return slices.ContainsFunc(results, func(r Result) bool { return r.Status == Error })
}

func ok(name, found string) Result { return Result{Name: name, Status: OK, Found: found} }

func warn(name, found string, advice ...string) Result {
	return Result{Name: name, Status: Warning, Found: found, Advice: advice}
}

func fail(name, found string, advice ...string) Result {
	return Result{Name: name, Status: Error, Found: found, Advice: advice}
}

func notChecked(name, why string) Result {
	return Result{Name: name, Status: NotChecked, Found: why}
}
