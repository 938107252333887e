package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// tokenVariable has the token for who can't use a file; others than root can't read
// a process's variables.
const tokenVariable = "LIFEPOD_TOKEN"

// longestToken is more than any; what else is fed in is not read.
const longestToken = 1024

// tokenSource is where the token of a cluster comes from.
type tokenSource struct {
	file, text string
	in         io.Reader // for the file "-"
}

// read gives the token; "" without one. No error has any of it.
func (s tokenSource) read() (string, error) {
	variable := os.Getenv(tokenVariable)
	if err := os.Unsetenv(tokenVariable); err != nil { // nobody who is started here needs it
		return "", err
	}
	switch {
	case s.file != "" && s.text != "":
		return "", errors.New("--token and --token-file exclude each other")
	case s.text != "":
		return s.text, nil
	case s.file == "-":
		return readToken(s.in, "the standard input")
	case s.file != "":
		file, err := os.Open(s.file)
		if err != nil {
			return "", fmt.Errorf("read the token: %w", err)
		}
		defer func() { _ = file.Close() }()
		return readToken(file, s.file)
	}
	return variable, nil
}

func readToken(from io.Reader, name string) (string, error) {
	text, err := io.ReadAll(io.LimitReader(from, longestToken))
	if err != nil {
		return "", fmt.Errorf("read the token from %s: %w", name, err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("read the token: %s is empty", name)
	}
	return token, nil
}
