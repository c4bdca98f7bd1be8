// Package memory bounds what a process and all that it has started take of the machine's memory together. The kernel's
// own bounds do not serve: that of the address space breaks programs that reserve more than they use, as those of Go,
// Java and Node do, each counts one process alone, and a user may seldom make a control group. So the processes are
// looked at a few times a second, and ended where they take more.
package memory

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Bound is how much a command and its descendants may take, in bytes. Zero is Default.
type Bound struct{ bytes atomic.Int64 }

// Bytes is the bound.
func (b *Bound) Bytes() int64 {
	if b != nil {
		if n := b.bytes.Load(); n > 0 {
			return n
		}
	}
	return Default()
}

var attached sync.Map // of *Bound, by *exec.Cmd

// Attach gives the bound of a command that is about to be confined, which Set changes. detach is for when it has been
// started, or will not be.
func Attach(cmd *exec.Cmd) (b *Bound, detach func()) {
	b = new(Bound)
	attached.Store(cmd, b)
	return b, func() { attached.Delete(cmd) }
}

// Set says how much a command may take; zero is Default.
func Set(cmd *exec.Cmd, bytes int64) {
	if b, ok := attached.Load(cmd); ok {
		b.(*Bound).bytes.Store(bytes)
	}
}

// Default is a quarter of the machine's memory, or of what the control group of this process allows where that is less.
var Default = sync.OnceValue(func() int64 { return total() / 4 })

// Text says to an agent and its user why a command was ended.
func Text(bound int64) string {
	return fmt.Sprintf("toolhost: ended, as its processes took more than %s of memory together. Do less at once. "+
		"Only the user can raise the bound: memory in the sandbox block of agent.hcl.", size(bound))
}

func size(n int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}} {
		if n >= unit.bytes {
			return strings.TrimSuffix(strconv.FormatFloat(float64(n)/float64(unit.bytes), 'f', 1, 64), ".0") + " " + unit.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
