// Package lifecycle says how a Pod lives: what is started when, what an exit
// leads to, how a pod ends, and what its status is at each moment. It decides
// and never acts: a Machine takes what happened, one Event after the other, and
// answers with the Effects to carry out. It reads no clock, calls nobody and
// uses no randomness, so the same events always give the same life. Rules carry the
// numbers of the contract (A-…: from creation to running, B-…: termination and
// recovery); a rule is found here by its number.
//
// # Positions
//
// A pod has a stage, which only advances (B-WRK-4, B-WRK-5):
//
//	Syncing ──────▶ Terminating ─────▶ Terminated ─────▶ Gone
//	starts, keeps,  starts nothing;    nothing runs;     nothing of it
//	restarts        stops containers,  volumes, sandbox  is left
//	                then the sandbox,  record and cgroup
//	                then gives back    are given back
//	                resource claims
//
// A pod enters Terminating on a request (StopRequested), the end of all regular
// containers (A-ACT-13), an init container that failed for good (A-INIT-3),
// activeDeadlineSeconds (B-CTL-9), a restart rule (TerminatePod) or an exceeded
// storage limit (B-LST-1). The stage alone decides whether anything may still be
// started, never what happens to run.
//
// A container's newest instance has a position:
//
//	absent ─▶ creating ─▶ created ─▶ starting ─▶ running ─▶ exited ─▶ creating …
//	              │                      │
//	              └────▶ uncertain ◀─────┘     a call ended without an answer:
//	                         │                 a snapshot (Observed) says which
//	                         └──▶ any of absent, created, running, exited
//
// Whether an exited container starts again is decided once, at its exit
// (A-RST-1, A-RST-4), and is kept with it.
//
// A single container can be stopped while its pod goes on (kill.go): because a
// probe or its postStart hook failed, a resize requires it, or somebody asked for
// its restart. Its end takes the same steps as the pod's (stopOne): the Killing
// event, the preStop hook, the signal when it is its turn; hook and signal share
// one absolute deadline, which can only come nearer. All containers can be
// restarted in place (restartall.go, with a diagram of its own).
//
// While a container runs, each of its probes has its own verdict, reached after
// enough equal results in a row and forgotten with the instance (probe.go):
//
//	startup    undecided ─▶ succeeded: "started"    or failed: the container is killed
//	liveness   undecided ─▶ succeeded ─▶ failed: the container is killed
//	readiness  undecided ─▶ succeeded ◀─▶ failed: "ready" or not
//
// The schedule is the machine's (probe.go): the one timer wakes it for
// the next attempt of any probe, and the caller makes that one attempt. An
// attempt that could not be made, or that failed because lifepod was late, does not
// count and is repeated at once, up to three attempts in all.
//
// The sandbox:
//
//	none ─▶ creating ─▶ ready ─▶ lost ─▶ stopping ─▶ none (the next attempt, A-ACT-3)
//	            │         ▲       ▲  ▲───────┘ │
//	            └▶ uncertain ─────┘   failed   └──▶ stopped (the pod is ending)
//
// Effects under way are part of the state (an EffectID where the work belongs),
// so that nothing is begun twice.
//
// Ephemeral containers are outside the order of the others (ephemeral.go). The
// spec of the machine's pod changes only by them and by resizes: it always has
// what the node has allocated (resize.go); what was asked for and is not
// allocated yet is kept beside it.
//
// # The caller's duties, in order
//
//  1. Make the machine with New from a pod that was defaulted and validated; feed
//     Accepted first; Rejected in its place, after which nothing more comes.
//  2. Feed events one at a time, with times that never go back. A Machine belongs
//     to one caller at a time.
//  3. Carry out the effects of a Step in their order. Those without an answer
//     (Cancel, WakeAt, Publish, RecordEvent, CountEviction, Tell, Finish) are done
//     at once; the others may run beside each other and beside further steps.
//  4. Answer each effect that has an ID exactly once, with the event its comment
//     names. A successful ImagePulled carries an ImageInfo. Answers that come
//     late, after the machine has lost interest, are ignored; so is everything
//     after Finish.
//  5. Cancel is a request: the effect is still answered, with Cancelled if it was
//     given up, with its real result if it was too late.
//  6. WakeAt replaces the one timer. Woke may come late or too often, but
//     it must come.
//  7. Feed what the runtime reports as it comes: ContainerRunning,
//     ContainerExited, SandboxExited. Events may be lost, doubled, or overtake the
//     answer of the call that caused them.
//  8. Feed a snapshot of the runtime (Observed) for each Observe, and unasked, with
//     ID zero, every ten seconds or so: it is what repairs lost events. Began is read
//     before the listing begins; whatever the machine did or learned at Began or
//     later is not judged by that snapshot. StateExited comes with its Exit.
//  9. Save Checkpoint after each Step after which ToSave says so, before the
//     effects are carried out. After a kill -9, Restore the machine from it and feed Resumed
//     instead of Accepted.
//  10. Stop at Finish.
//
// # Failures
//
// The class of a Failure says what is known, and decides what follows:
//
//	Failed       refused, nothing was left behind: reported, tried again after RetryAfter
//	Unavailable  never reached the runtime: tried again after UnavailableRetry
//	Uncertain    no answer, it may have worked or may still: reported, and the machine
//	             asks for a snapshot, adopts what it finds, and only then goes on
//	Cancelled    given up because the machine asked; for a sandbox as Uncertain
//	NotFound     the object is not there: what was to be stopped or removed is
//
// A failed StartContainer is always looked into, because the runtime may keep
// the instance as exited (StartError, A-CST-9).
//
// # Where a new rule goes
//
// A new fact is a type in event.go and a case in apply; what it changes goes into
// the file of its concept (exit.go, images.go, sandbox.go …). New state that must outlive
// lifepod is an exported field with a tag: that puts it into the Checkpoint. State that can
// be found or done again is a field that is not exported, with a comment that says so. A
// new action is a type in effect.go, begun in the plan of its stage (plan.go, stop.go). A
// new restart rule belongs in decideRestart, a new condition in conditions, a new reason of
// waiting where the failure is filed. What is told of it is a Report: a kind, which is not
// read as words, and fields (report.go); words.go has the sentence, if it is not the kind's
// own words. apply files facts and begins what follows from one fact alone; plan looks only
// at the state, and must be safe to run again at the next event. Each rule gets a transcript in testdata; invariants_test.go checks
// random lives against the laws that always hold.
//
// pretended.go is a container runtime without processes, which transcripts, random walks and package sim live on.
//
// backoff_policy.go calculates the growing delays with which Kubernetes retries containers
// and image pulls.
//
// resize.go compares the resources of containers, for resizes (KEP-1287).
package lifecycle
