package machine

import (
	"bytes"
	"sync"
)

// Log is what a program has said so far.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *Log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

// String is all of it.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
