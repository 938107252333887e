package live

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// Timers come after a fraction of their duration, and never before their time.
func TestScaledTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, speed := range []float64{0.5, 3, 60, 1000} {
			s := NewScaled(speed)
			for _, d := range []time.Duration{time.Nanosecond, time.Millisecond, 7 * time.Second, time.Hour} {
				began, real := s.Now(), time.Now()
				came := make(chan time.Time)
				s.AfterFunc(time.Hour, func() { came <- s.Now() }).Reset(d)
				at := <-came
				late := at.Sub(began) - d
				assert.True(t, late >= 0 && late <= 10*time.Microsecond, "at speed %v a timer of %v comes after %v", speed, d, at.Sub(began))
				want := time.Duration(float64(d) / speed)
				took := time.Since(real)
				assert.True(t, took >= want && took <= want+10*time.Microsecond, "at speed %v a timer of %v takes %v, want %v", speed, d, took, want)
			}
			assert.True(t, s.AfterFunc(time.Hour, func() { t.Error("a timer comes that was stopped") }).Stop(),
				"a timer that was set can't be stopped")
		}
	})
}

// Real gives out real times: now for what is reported within its second, else that second; what was before has its time.
func TestScaledReal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond)
		start, s := time.Now(), NewScaled(60)
		got := s.Now()
		assert.True(t, got.Nanosecond() == 0 && start.Sub(got) <= time.Second, "it begins at %v, in real time %v", got, start)
		begin := s.Now()
		time.Sleep(10 * time.Second)
		for _, tc := range []struct {
			of   time.Time
			want time.Duration // since the start
		}{
			{s.Now(), 10 * time.Second},
			{s.Now().Truncate(time.Second), 10 * time.Second},
			{begin, time.Second / 60},
			{begin.Add(5 * time.Minute), 5*time.Second + time.Second/60},
			{begin.Add(time.Hour), time.Minute},
		} {
			got := s.Real(tc.of).Sub(start)
			assert.True(t, (got-tc.want).Abs() <= time.Microsecond, "%v after the begin is %v after it in real time, want %v", tc.of.Sub(begin), got, tc.want)
		}
		before := begin.Add(-time.Hour)
		assert.True(t, s.Real(before).Equal(before) && s.Of(before).Equal(before), "what was before the begin has another time")
		got, want := s.Of(start.Add(10*time.Second)), begin.Add(10*time.Minute)
		assert.True(t, got.Sub(want).Abs() <= time.Microsecond, "10s after the start it is %v, want %v", got, want)
		got = s.Of(start.Add(-time.Millisecond))
		assert.True(t, !got.After(begin), "before the begin it is %v, which is after it", got)
	})
}

func TestCheckSpeed(t *testing.T) {
	for _, good := range []float64{0.01, 1, 60, Fastest} {
		assert.NoError(t, CheckSpeed(good))
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), Fastest + 1} {
		err := CheckSpeed(bad)
		assert.True(t, err != nil && strings.Contains(err.Error(), "want a number above 0, at most 1000"), "%v: %v", bad, err)
	}
}
