package cri

import (
	"context"
	"errors"
	"net"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lifepod/lifepod/lifecycle"
)

const (
	reconnectMin = 20 * time.Millisecond
	reconnectMax = time.Second
)

// Text is an error in the runtime's own words, without gRPC's wrapping.
func Text(err error) string {
	var answer interface {
		error
		GRPCStatus() *status.Status
	}
	if !errors.As(err, &answer) {
		return err.Error()
	}
	return strings.ReplaceAll(err.Error(), answer.Error(), answer.GRPCStatus().Message())
}

// FailureOf says what is known about a call that returned err: nil for none. ctx
// is the call's, to tell a call that was given up from one that ran out of time.
func FailureOf(ctx context.Context, err error) *lifecycle.Failure {
	if err == nil {
		return nil
	}
	return &lifecycle.Failure{Class: class(ctx, err), Message: Text(err)}
}

func class(ctx context.Context, err error) lifecycle.FailureClass {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return lifecycle.Cancelled
	}
	if errors.Is(err, context.DeadlineExceeded) || reserved(err) {
		return lifecycle.Uncertain
	}
	switch status.Code(err) {
	case codes.DeadlineExceeded, codes.Canceled, codes.AlreadyExists:
		return lifecycle.Uncertain
	case codes.Unavailable:
		return unavailable(err)
	case codes.NotFound:
		return lifecycle.NotFound
	}
	return lifecycle.Failed
}

// lacks are what this machine can be short of, so that it makes no connection and opens no file.
var lacks = []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EADDRNOTAVAIL}

// Lacking says that a call was not made because this machine lacks files, memory or ports for it. That says
// nothing about whom it was for (A-PROBE-18).
func Lacking(err error) bool {
	lookup, ofName := errors.AsType[*net.DNSError](err) // it keeps the text only
	return slices.ContainsFunc(lacks, func(lack syscall.Errno) bool {
		return errors.Is(err, lack) || ofName && strings.HasSuffix(lookup.Err, lack.Error())
	})
}

// unavailable tells a runtime that was not reached from one that went away
// during the call, which may have done what was asked.
func unavailable(err error) lifecycle.FailureClass {
	text := Text(err)
	if strings.Contains(text, "connection refused") || strings.Contains(text, "no such file") {
		return lifecycle.Unavailable
	}
	return lifecycle.Uncertain
}

// reserved is what containerd and CRI-O answer while an earlier call for the
// same name, of which the answer was lost, is still at work.
func reserved(err error) bool { return strings.Contains(Text(err), "is reserved for") }

// IsNotFound says that the runtime does not know the object of the call.
func IsNotFound(err error) bool { return err != nil && status.Code(err) == codes.NotFound }

// prose is what runtimes put in front of a reason: who called whom. Nobody but their
// authors can do anything about it.
var prose = regexp.MustCompile(`rpc error: code = \w+ desc = ` +
	`|Internal error occurred: |error executing command in container: ` +
	`|failed to (?:create|start) containerd task(?: "[^"]*")?: |failed to create shim task: |failed to exec in container: |failed to start exec "[^"]*": ` +
	`|OCI runtime (?:create|exec|start) failed: |runc (?:create|exec|start) failed: |\bexec failed: ` +
	`|unable to start container process: |error during container init: |failed to pull and unpack image "[^"]*": `)

// Reason is what a runtime says of a failure without the names of its own parts, for
// people. A status keeps the runtime's words, as in Kubernetes.
func Reason(text string) string { return prose.ReplaceAllString(text, "") }
