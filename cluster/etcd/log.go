package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger has etcd's errors in the log of the process, and its warnings, of which
// it has many on a slow machine, for those who debug. What etcd ends the
// process for ends only the goroutine that says so, and is told to failed.
// Once it is to end, that its servers are closed is no error.
func newLogger(log *slog.Logger, ended <-chan struct{}, failed func(error)) *zap.Logger {
	hook := fatalHook(failed)
	return zap.New(logCore{log: log, ended: ended}, zap.WithFatalHook(hook), zap.WithPanicHook(hook))
}

// logCore is slog for zap.
type logCore struct {
	log   *slog.Logger
	ended <-chan struct{}
}

func (c logCore) Enabled(level zapcore.Level) bool {
	return level >= zapcore.WarnLevel && c.log.Enabled(context.Background(), c.severity(level))
}

func (c logCore) severity(level zapcore.Level) slog.Level {
	select {
	case <-c.ended:
		return slog.LevelDebug
	default:
	}
	if level >= zapcore.ErrorLevel {
		return slog.LevelError
	}
	return slog.LevelDebug
}

// storageVersion is what etcd says every few seconds of a new database, until it is
// first written to disk.
const storageVersion = "failed to update storage version"

// levelOf is how severe an entry is to people.
func (c logCore) levelOf(entry zapcore.Entry) slog.Level {
	if entry.Message == storageVersion {
		return slog.LevelDebug
	}
	return c.severity(entry.Level)
}

func (c logCore) With(fields []zapcore.Field) zapcore.Core {
	return logCore{log: c.log.With(values(fields)...), ended: c.ended}
}

func (c logCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

func (c logCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	c.log.Log(context.Background(), c.levelOf(entry), "etcd: "+entry.Message, values(fields)...)
	return nil
}

func (c logCore) Sync() error { return nil }

func values(fields []zapcore.Field) []any {
	encoder := zapcore.NewMapObjectEncoder()
	for _, f := range fields {
		f.AddTo(encoder)
	}
	var list []any
	for _, f := range fields {
		if value, ok := encoder.Fields[f.Key]; ok {
			list = append(list, f.Key, value)
		}
	}
	return list
}

// fatalHook is told of what is fatal to etcd.
type fatalHook func(error)

func (failed fatalHook) OnWrite(checked *zapcore.CheckedEntry, fields []zapcore.Field) {
	err := errors.New(checked.Message)
	for _, f := range fields {
		if cause, ok := f.Interface.(error); ok {
			err = fmt.Errorf("%s: %w", checked.Message, cause)
		}
	}
	failed(err)
	runtime.Goexit()
}
