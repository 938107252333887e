package devices

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	healthapi "k8s.io/kubelet/pkg/apis/dra-health/v1"

	"github.com/lifepod/lifepod/internal/wholefile"
)

// healthTimeout is how long what a driver says of a device counts, unless it says how long
// (A-DRA-12).
const healthTimeout = 30 * time.Second

// maxDevicesOfDriver are the devices of which is kept how they are: nobody checks that what a
// driver tells of exists.
const maxDevicesOfDriver = 16384

// DeviceHealth is how a device is in its driver's words, under the names that the kubelet's
// file has.
type DeviceHealth struct {
	PoolName           string
	DeviceName         string
	Health             v1.ResourceHealthStatus
	LastUpdated        time.Time
	HealthCheckTimeout time.Duration
	Message            string
}

func (d DeviceHealth) key() string { return d.PoolName + "/" + d.DeviceName }

// driverHealth is what a driver has said of its devices, by pool and name.
type driverHealth struct {
	Devices map[string]DeviceHealth

	from   *driver     // who has said it; nil: the file
	expiry *time.Timer // when some of it counts no longer; nil: none does, or all is read from the file
}

// healths is how devices are, and keeps that in a file.
type healths struct {
	path string
	log  *slog.Logger

	mu      sync.Mutex
	drivers map[string]*driverHealth
	changed func(driver string, devices []DeviceHealth) // called without mu
}

// openHealth goes on without what it can't read: drivers tell it again.
func openHealth(path string, log *slog.Logger) *healths {
	h := &healths{path: path, log: log, drivers: map[string]*driverHealth{}, changed: func(string, []DeviceHealth) {}}
	if err := wholefile.ReadJSON(path, &h.drivers); err != nil {
		log.Warn("health of devices is unknown until their drivers tell", "err", fmt.Errorf("read %s: %w", path, err))
		h.drivers = map[string]*driverHealth{}
	}
	maps.DeleteFunc(h.drivers, func(_ string, known *driverHealth) bool { return known == nil })
	return h
}

// of is how a device is as far as that is known.
func (h *healths) of(driver string, device ClaimedDevice) DeviceHealth {
	h.mu.Lock()
	defer h.mu.Unlock()
	unknown := DeviceHealth{PoolName: device.PoolName, DeviceName: device.DeviceName, Health: v1.ResourceHealthStatusUnknown}
	known := h.drivers[driver]
	if known == nil {
		return unknown
	}
	is, said := known.Devices[unknown.key()]
	if !said || time.Since(is.LastUpdated) > is.HealthCheckTimeout {
		return unknown
	}
	return is
}

// update files what a driver says of all its devices, but for new ones beyond the limit.
func (h *healths) update(from *driver, all []*healthapi.DeviceHealth) {
	h.mu.Lock()
	known := h.drivers[from.name]
	if known == nil || known.Devices == nil {
		known = &driverHealth{Devices: map[string]DeviceHealth{}}
		h.drivers[from.name] = known
	}
	known.from = from
	var changed []DeviceHealth
	ignored := 0
	for _, one := range all {
		is := deviceHealth(one)
		was, said := known.Devices[is.key()]
		if !said && len(known.Devices) >= maxDevicesOfDriver {
			ignored++
			continue
		}
		if !said || was.Health != is.Health || was.Message != is.Message || was.HealthCheckTimeout != is.HealthCheckTimeout {
			changed = append(changed, is)
		}
		known.Devices[is.key()] = is
	}
	if ignored > 0 {
		h.log.Warn("health of a driver's devices is ignored: there are too many", "driver", from.name, "limit", maxDevicesOfDriver, "ignored", ignored)
	}
	h.expireLater(from.name)
	h.unlockAndTell(from.name, changed)
}

// forget drops what a driver has said that is gone, unless another one in its place has
// spoken since.
func (h *healths) forget(from *driver) {
	h.mu.Lock()
	known := h.drivers[from.name]
	if known == nil || known.from != from {
		h.mu.Unlock()
		return
	}
	delete(h.drivers, from.name)
	known.stop()
	h.unlockAndTell(from.name, slices.Collect(maps.Values(known.Devices)))
}

// expire drops what counts no longer.
func (h *healths) expire(driver string) {
	h.mu.Lock()
	var changed []DeviceHealth
	if known := h.drivers[driver]; known != nil {
		maps.DeleteFunc(known.Devices, func(_ string, is DeviceHealth) bool {
			old := time.Since(is.LastUpdated) >= is.HealthCheckTimeout
			if old {
				changed = append(changed, is)
			}
			return old
		})
		h.expireLater(driver)
	}
	h.unlockAndTell(driver, changed)
}

// expireLater sets the timer to when the first of what a driver has said counts no longer;
// mu is held.
func (h *healths) expireLater(driver string) {
	known, first := h.drivers[driver], time.Time{}
	for _, is := range known.Devices {
		if end := is.LastUpdated.Add(is.HealthCheckTimeout); first.IsZero() || end.Before(first) {
			first = end
		}
	}
	known.stop()
	if !first.IsZero() {
		known.expiry = time.AfterFunc(time.Until(first), func() { h.expire(driver) })
	}
}

func (d *driverHealth) stop() {
	if d.expiry != nil {
		d.expiry.Stop()
		d.expiry = nil
	}
}

// begin has what the file says expire; changed is told of devices that may be otherwise
// than before.
func (h *healths) begin(changed func(driver string, devices []DeviceHealth)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changed = changed
	for driver := range h.drivers {
		h.expireLater(driver)
	}
}

// end stops the timers; the file keeps what is known for the next agent.
func (h *healths) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, known := range h.drivers {
		known.stop()
	}
}

// unlockAndTell saves and tells a change. A file that can't be written loses nothing that
// drivers don't tell again.
func (h *healths) unlockAndTell(driver string, changed []DeviceHealth) {
	if len(changed) > 0 {
		if err := wholefile.WriteJSON(h.path, h.drivers); err != nil {
			h.log.Warn("health of devices is lost when the agent ends", "err", err)
		}
	}
	tell := h.changed
	h.mu.Unlock()
	if len(changed) > 0 {
		tell(driver, changed)
	}
}

// deviceHealth is what a driver says of a device now.
func deviceHealth(said *healthapi.DeviceHealth) DeviceHealth {
	is := DeviceHealth{
		PoolName: said.GetDevice().GetPoolName(), DeviceName: said.GetDevice().GetDeviceName(), Health: v1.ResourceHealthStatusUnknown,
		LastUpdated: time.Now(), HealthCheckTimeout: healthTimeout, Message: said.GetMessage(),
	}
	switch said.GetHealth() {
	case healthapi.HealthStatus_HEALTHY:
		is.Health = v1.ResourceHealthStatusHealthy
	case healthapi.HealthStatus_UNHEALTHY:
		is.Health = v1.ResourceHealthStatusUnhealthy
	}
	if seconds := said.GetHealthCheckTimeoutSeconds(); seconds > 0 {
		is.HealthCheckTimeout = time.Duration(min(seconds, maxTimeoutSeconds)) * time.Second
	}
	if len(is.Message) > v1.ResourceHealthMessageMaxLength {
		is.Message = strings.ToValidUTF8(is.Message[:v1.ResourceHealthMessageMaxLength-len("...")], "") + "..."
	}
	return is
}

// maxTimeoutSeconds is what a Duration can have.
const maxTimeoutSeconds = int64(1<<63-1) / int64(time.Second)
