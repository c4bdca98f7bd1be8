// Package reexec knows whether this program may re-execute itself for parts of its work. Its main must handle
// such a start before all else: otherwise it would run all of itself once more.
package reexec

import (
	"sync/atomic"

	"github.com/toolhost/toolhost/host/tool"
)

var answers atomic.Bool

// Answers notes that main handles such a start.
func Answers() { answers.Store(true) }

// Check refuses to re-execute a program whose main does not handle it.
func Check() error {
	if answers.Load() {
		return nil
	}
	return tool.Errorf(tool.Unavailable,
		"this program re-executes itself for that, and its main function does not answer such a start").
		Suggest("The author of the program has to call toolhost.Main() first in its main function (in TestMain for tests).")
}
