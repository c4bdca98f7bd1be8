// Package fault contains panics of goroutines that work for a call: a bug in toolhost becomes an error of that
// call, and the others continue.
package fault

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/toolhost/toolhost/host/tool"
)

var log io.Writer = os.Stderr

// Contain is deferred by a goroutine. If that panics, it logs the panic with its stack, and calls report with an
// error of code internal; doing describes the activity.
func Contain(doing string, report func(error)) {
	p := recover()
	if p == nil {
		return
	}
	fmt.Fprintf(log, "toolhost panicked while it %s: %v\n%s", doing, p, debug.Stack())
	report(tool.Errorf(tool.Internal, "toolhost failed while it %s: %v", doing, p).
		Suggest("This is a bug in toolhost: please report it with the stack from the log. Other calls are not affected."))
}
