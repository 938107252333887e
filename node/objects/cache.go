package objects

import (
	"maps"
	"sync"
	"time"

	"github.com/lifepod/lifepod/worker/images"
)

// cacheKey is what credentials are good for: an image, a registry or all, and
// an identity.
type cacheKey struct {
	scope    string // "" for all
	identity string
}

type cacheEntry struct {
	logins []images.Login
	until  time.Time
}

// credentialCache keeps credentials as long as their plugin says. Those that nobody asks
// for again go with the next that come.
type credentialCache struct {
	mu      sync.Mutex
	entries map[cacheKey]cacheEntry
}

func (c *credentialCache) find(keys ...cacheKey) ([]images.Login, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		if entry, found := c.entries[key]; found && time.Now().Before(entry.until) {
			return entry.logins, true
		}
	}
	return nil, false
}

func (c *credentialCache) keep(key cacheKey, logins []images.Login, good time.Duration) {
	if good <= 0 {
		return
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[cacheKey]cacheEntry{}
	}
	maps.DeleteFunc(c.entries, func(_ cacheKey, e cacheEntry) bool { return !now.Before(e.until) })
	c.entries[key] = cacheEntry{logins: logins, until: now.Add(good)}
}
