package netguard

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

func tooLarge(response *Response, limit int64) *tool.Error {
	size := "more than that"
	if response.Length >= 0 {
		size = fmt.Sprintf("%d bytes", response.Length)
	}
	return tool.Errorf(tool.TooLarge, "the answer is larger than %d bytes: it has %s", limit, size).
		Suggest("Fetch a smaller page or a part of it.").With("limit", limit)
}

func explain(ctx context.Context, host string, limit time.Duration, err error) error {
	var refused refusal
	if errors.As(err, &refused) {
		return refused.error
	}
	var own *tool.Error
	if errors.As(err, &own) {
		return own
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errIdle):
		return timedOut("%s stopped sending in the middle of its answer", host)
	case errors.Is(cause, errTimeout):
		return timedOut("%s did not finish its answer within %v", host, limit)
	case errors.Is(cause, context.DeadlineExceeded):
		return timedOut("%s did not finish its answer in time", host)
	case cause != nil:
		return tool.Errorf(tool.Cancelled, "the fetch from %s was cancelled: %w", host, cause).
			Suggest("Call again if it is still wanted.")
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return timedOut("%s did not answer in time", host)
	}
	reason := reasonOf(err)
	return tool.Errorf(tool.Unavailable, "cannot fetch from %s: %w", host, &failure{reason, err}).
		Suggest("Check the spelling of the host. If it is right, the server is out of order: try again later, or use another one.").
		With("host", host).With("reason", reason)
}

// refusal marks the error of a Request's Check, which is the caller's own.
type refusal struct{ error }

func timedOut(format string, args ...any) *tool.Error {
	return tool.Errorf(tool.Timeout, format, args...).
		Suggest("Try again later, or allow more time.").With("reason", "timeout")
}

// failure has a reason in place of its cause's text.
type failure struct {
	reason string
	cause  error
}

func (f *failure) Error() string { return f.reason }
func (f *failure) Unwrap() error { return f.cause }

// reasonOf shortens a network error.
func reasonOf(err error) string {
	var name *net.DNSError
	var errno syscall.Errno
	var certificate *tls.CertificateVerificationError
	var wrapped *url.Error
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return "no such host"
	case errors.As(err, &name):
		return "the host name cannot be looked up"
	case errors.As(err, &certificate):
		return "its certificate is not trusted: " + certificate.Err.Error()
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the connection ended before the answer did"
	case errors.As(err, &wrapped):
		return wrapped.Err.Error()
	}
	return err.Error()
}
