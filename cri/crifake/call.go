package crifake

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

type callOption = grpc.CallOption

// call is one call that is being made.
type call struct {
	rpc, detail string
	subject     subject
	// name is what the call wants to have for itself, as sandboxes and
	// containers are named; empty if it makes nothing.
	name string
	// takes is how long it takes, if nothing goes wrong.
	takes time.Duration
	// effect is what the call does, without a lock held.
	effect func(ctx context.Context) error
}

// do makes the call: it takes its time, with its effect in the middle, and goes
// wrong as the faults say.
func (r *Runtime) do(ctx context.Context, c call) error {
	began := time.Now()
	r.mu.Lock()
	index := len(r.calls)
	if r.play == nil { // a story is told afterwards
		r.calls = append(r.calls, Call{At: began, RPC: c.rpc, Subject: c.subject.text, Detail: c.detail})
	}
	f := r.faultOf(c.rpc, c.subject.text)
	c.takes = Took(c.rpc)
	if r.play != nil {
		f = r.playedCall(&c)
	}
	refused := r.isDown()
	r.changed.Send()
	r.mu.Unlock()

	err := errRefused
	if !refused {
		err = r.reserve(ctx, c, f)
	}
	r.mu.Lock()
	if r.play == nil {
		r.calls[index].Took, r.calls[index].Err = time.Since(began), err
	}
	r.changed.Send()
	r.mu.Unlock()
	return err
}

// ask makes a call whose effect fills in the answer, with mu held.
func ask[T any](ctx context.Context, r *Runtime, c call, fill func(answer *T) error) (*T, error) {
	answer := new(T)
	c.effect = func(context.Context) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		return fill(answer)
	}
	if err := r.do(ctx, c); err != nil {
		return nil, err
	}
	return answer, nil
}

// reserve holds the name of what is made while the call is at work, as
// containerd and CRI-O do: a second call for it meanwhile is refused.
func (r *Runtime) reserve(ctx context.Context, c call, f *fault) error {
	if c.name == "" {
		return r.answer(ctx, c, f)
	}
	r.mu.Lock()
	holder, taken := r.reserved[c.name]
	if !taken {
		r.reserved[c.name] = "call"
	}
	r.mu.Unlock()
	if taken {
		return fmt.Errorf("failed to reserve name %q: name %q is reserved for %q", c.name, c.name, holder)
	}
	err := r.answer(ctx, c, f)
	if f.is(late) {
		return err // the call is still at work
	}
	r.mu.Lock()
	if r.reserved[c.name] == "call" {
		delete(r.reserved, c.name)
	}
	r.mu.Unlock()
	return err
}

// answer is what becomes of the call under a fault, which may be nil.
func (r *Runtime) answer(ctx context.Context, c call, f *fault) error {
	half := c.takes / 2
	switch {
	case f.is(hang):
		return r.sleep(ctx, forever)
	case f.is(late):
		time.AfterFunc(f.by, func() { _ = c.effect(context.WithoutCancel(ctx)) })
		return r.sleep(ctx, forever)
	}
	if err := r.sleep(ctx, half); err != nil {
		r.goOn(ctx, c, half)
		return err
	}
	if f.is(fail) {
		return f.err
	}
	if err := c.effect(ctx); err != nil {
		return err
	}
	switch {
	case f.is(doneThenHang):
		half = forever
	case f.is(slow):
		half += f.by
	}
	if err := r.sleep(ctx, half); err != nil {
		return err
	}
	if f.is(doneThenFail) {
		return f.err
	}
	return nil
}

// goOn carries a sandbox's creation out although its call was given up: a real
// runtime does not notice at once.
func (r *Runtime) goOn(ctx context.Context, c call, after time.Duration) {
	if ctx.Err() != nil && c.rpc == "RunPodSandbox" {
		time.AfterFunc(after, func() { _ = c.effect(context.WithoutCancel(ctx)) })
	}
}

// later does something after some time, with mu held.
func (r *Runtime) later(after time.Duration, do func()) {
	time.AfterFunc(after, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		do()
	})
}

const forever = 1000 * time.Hour

// sleep waits; it ends early, with the error of the call, when the call is given
// up or the runtime goes down.
func (r *Runtime) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	r.mu.Lock()
	down := r.down
	r.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-down:
		return errBroken
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}
