package bare

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/times"
)

// One measures the life of a pod with one container: create, restart (the process
// is killed → the next one runs) and delete.
func (r *Runtime) One(ctx context.Context, of *v1.Pod, record times.Record) error {
	began := time.Now()
	p, err := r.create(ctx, of)
	if err != nil {
		return err
	}
	defer p.removeLogs()
	first, err := p.start(ctx, &of.Spec.Containers[0], 0)
	if err != nil {
		return err
	}
	record("create", time.Since(began))
	settle()

	began = time.Now()
	if err := errors.Join(r.Kill(ctx, first.id), await(ctx, first.exit)); err != nil {
		return err
	}
	second, err := p.start(ctx, &of.Spec.Containers[0], 1)
	if err != nil {
		return err
	}
	record("restart", time.Since(began))
	settle()

	began = time.Now()
	if err := errors.Join(p.stop(ctx, second, *of.Spec.TerminationGracePeriodSeconds), p.remove(ctx)); err != nil {
		return err
	}
	record("delete", time.Since(began))
	return nil
}

// RestartAll measures "restart all" of a pod with a set-up, a sidecar and a main
// container that is killed: the end of the sidecar, the removals of the victims
// side by side, then that of the cause, then the starts.
func (r *Runtime) RestartAll(ctx context.Context, of *v1.Pod, record times.Record) error {
	p, err := r.create(ctx, of)
	if err != nil {
		return err
	}
	defer p.removeLogs()
	all, err := p.startAll(ctx, 0)
	if err != nil {
		return err
	}
	setup, sidecar, main := all[0], all[1], all[2]
	settle()
	began := time.Now()
	if err := errors.Join(r.Kill(ctx, main.id), await(ctx, main.exit), p.stop(ctx, sidecar, 0)); err != nil {
		return err
	}
	if err := errors.Join(r.removeContainers(ctx, setup, sidecar), r.removeContainers(ctx, main)); err != nil {
		return err
	}
	if _, err := p.startAll(ctx, 1); err != nil {
		return err
	}
	record("restart all", time.Since(began))
	return p.remove(ctx)
}

// AtOnce measures "N created at once" and "N deleted at once" with all of the pods
// under way at the same time.
func (r *Runtime) AtOnce(ctx context.Context, of []*v1.Pod, record times.Record) error {
	pods, mains := make([]*pod, len(of)), make([]instance, len(of))
	began := time.Now()
	err := Together(len(of), len(of), func(i int) (err error) {
		if pods[i], err = r.create(ctx, of[i]); err != nil {
			return err
		}
		mains[i], err = pods[i].start(ctx, &of[i].Spec.Containers[0], 0)
		return err
	})
	for _, p := range pods {
		defer p.removeLogs()
	}
	if err != nil {
		return errors.Join(err, Together(len(of), len(of), func(i int) error {
			if pods[i].sandbox == "" {
				return nil
			}
			return pods[i].remove(ctx)
		}))
	}
	record(fmt.Sprintf("%d created at once", len(of)), time.Since(began))
	settle()
	began = time.Now()
	err = Together(len(of), len(of), func(i int) error {
		return errors.Join(pods[i].stop(ctx, mains[i], *of[i].Spec.TerminationGracePeriodSeconds), pods[i].remove(ctx))
	})
	if err != nil {
		return err
	}
	record(fmt.Sprintf("%d deleted at once", len(of)), time.Since(began))
	return nil
}

// Lives takes pods with one container that ends by itself through their lives, all at once.
func (r *Runtime) Lives(ctx context.Context, of []*v1.Pod) error {
	return Together(len(of), len(of), func(i int) error {
		p, err := r.create(ctx, of[i])
		if err != nil {
			return err
		}
		defer p.removeLogs()
		main, err := p.start(ctx, &of[i].Spec.Containers[0], 0)
		if err == nil {
			err = await(ctx, main.exit)
		}
		return errors.Join(err, p.remove(ctx))
	})
}

// settle lets what the last call still stirs come to rest.
func settle() { time.Sleep(50 * time.Millisecond) }
