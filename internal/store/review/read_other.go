//go:build !linux

package review

import (
	"context"
	"runtime"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/view"
)

// Read fails: there are no views here.
func Read(context.Context, *view.View, string) (*Changes, error) {
	return nil, tool.Errorf(tool.Unsupported, "there is no view of the workspace on %s", runtime.GOOS).
		Suggest("Use Linux.")
}
