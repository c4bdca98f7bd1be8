// Package fault contains panics of goroutines that work for a call: such a fault of
// toolhost's own is an error of that call, and the others go on.
package fault

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/toolhost/toolhost/host/tool"
)

// log is where the log of toolhost goes.
var log io.Writer = os.Stderr

// Contain is deferred by a goroutine. When that panics, it writes the panic and its
// stack into the log, and gives tell an error of code internal that says what
// happened while toolhost was doing what doing says.
func Contain(doing string, tell func(error)) {
	p := recover()
	if p == nil {
		return
	}
	fmt.Fprintf(log, "toolhost panicked while it %s: %v\n%s", doing, p, debug.Stack())
	tell(tool.Errorf(tool.Internal, "a fault of toolhost while it %s: %v", doing, p).
		Suggest("The log has the stack; please report it. Other calls work on."))
}
