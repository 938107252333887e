// Package logfile bounds what a program in the background logs: it appends to a
// file, beside which one older file with the suffix .1 is kept.
package logfile

import (
	"bytes"
	"os"
)

// most is the size in bytes from which a log is rotated.
const most = 8 << 20

// Open opens a log for a program that is about to start, rotated if it has become
// too long.
func Open(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > most {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

// Trim bounds the log of a program that runs for long: it has the file open for
// appending, so that the file can only be copied and emptied. What is written
// meanwhile is lost.
func Trim(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() <= most {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".1", text, 0o600); err != nil {
		return err
	}
	return os.Truncate(path, 0)
}

// tail is how many lines Tail shows.
const tail = 12

// Tail is the last lines of what was logged after offset, for an error message.
func Tail(path string, offset int64) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if offset <= int64(len(text)) {
		text = text[offset:]
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-tail):], []byte("\n")))
}
