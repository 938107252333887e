package crifake

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The verbs of faults.
const (
	hang         = "hang"                // nothing is done, there is never an answer
	late         = "carry-out-late"      // there is never an answer, but after by=D it is done
	doneThenHang = "carry-out-then-hang" // it is done, there is never an answer
	fail         = "fail"                // nothing is done, the answer is an error
	doneThenFail = "carry-out-then-fail" // it is done, the answer is an error
	slow         = "slow"                // it is done, the answer comes by=D later than usual
	lose         = "lose"                // an event is not sent
	double       = "double"              // an event is sent twice
	delay        = "delay"               // an event is sent by=D later
	drop         = "drop"                // a stream breaks instead of an event
)

// fault is something that goes wrong, once unless it says otherwise.
type fault struct {
	verb    string
	what    string // RPC, or type of event
	subject string // empty: any
	nth     int    // the first of the matching calls or events that it hits
	times   int    // how many it hits
	by      time.Duration
	err     error
	seen    int
}

func (f *fault) is(verb string) bool { return f != nil && f.verb == verb }

// Fault adds faults, each of the form
//
//	verb what [subject][#n] [times=N] [by=D] [code=C] [message=…]
//
// such as "hang CreateContainer main#2", "fail StartContainer code=Unavailable",
// "lose STOPPED main", "delay STARTED web/main by=3s". What is an RPC, or for
// lose, double, delay and drop the type of an event: CREATED, STARTED, STOPPED,
// DELETED. A subject is a pod, a container or pod/container; #n is the n-th that
// matches, the first without. It is hit once, or times=N times from there on. A
// text that can't be read panics: it is part of a test.
func (r *Runtime) Fault(texts ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, text := range texts {
		f, err := parseFault(text)
		if err != nil {
			panic(fmt.Sprintf("crifake: fault %q: %v", text, err))
		}
		r.faults = append(r.faults, f)
	}
}

// ClearFaults removes all faults of a runtime.
func ClearFaults(r *Runtime) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = nil
}

func parseFault(text string) (*fault, error) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return nil, fmt.Errorf("want: verb what [subject][#n] [key=value …]")
	}
	f := &fault{verb: words[0], what: words[1], nth: 1, times: 1}
	switch f.verb {
	case hang, late, doneThenHang, fail, doneThenFail, slow, lose, double, delay, drop:
	default:
		return nil, fmt.Errorf("there is no verb %q", f.verb)
	}
	code, message := codes.Unknown, "injected fault"
	for i, word := range words[2:] {
		key, value, isOption := strings.Cut(word, "=")
		if !isOption {
			if i > 0 {
				return nil, fmt.Errorf("unexpected %q", word)
			}
			if err := f.parseSubject(word); err != nil {
				return nil, err
			}
			continue
		}
		var err error
		switch key {
		case "times":
			f.times, err = strconv.Atoi(value)
		case "by":
			f.by, err = time.ParseDuration(value)
		case "code":
			code, err = parseCode(value)
		case "message":
			message = strings.ReplaceAll(value, "_", " ")
		default:
			err = fmt.Errorf("there is no option %q", key)
		}
		if err != nil {
			return nil, err
		}
	}
	f.err = status.Error(code, message)
	return f, nil
}

func (f *fault) parseSubject(word string) (err error) {
	subject, nth, counted := strings.Cut(word, "#")
	f.subject = subject
	if counted {
		f.nth, err = strconv.Atoi(nth)
	}
	return err
}

func parseCode(name string) (codes.Code, error) {
	for c := codes.OK; c <= codes.Unauthenticated; c++ {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf("there is no code %q", name)
}

// faultOf is the fault that hits a call or event, which counts as seen; needs mu.
func (r *Runtime) faultOf(what, subject string) *fault {
	var hit *fault
	for _, f := range r.faults {
		if f.what != what || !f.matches(subject) {
			continue
		}
		f.seen++
		if hit == nil && f.seen >= f.nth && f.seen < f.nth+f.times {
			hit = f
		}
	}
	return hit
}

func (f *fault) matches(subject string) bool {
	pod, container, _ := strings.Cut(subject, "/")
	return f.subject == "" || f.subject == subject || f.subject == container || f.subject == pod
}
