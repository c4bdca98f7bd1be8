// Package builtin holds the tools that come with toolhost. It is outside
// internal/ only because its folder is at the top; its parts are below
// builtin/internal, each with one tool.
package builtin

import (
	"github.com/toolhost/toolhost/builtin/internal/editfile"
	"github.com/toolhost/toolhost/builtin/internal/htmlmarkdown"
	"github.com/toolhost/toolhost/builtin/internal/multiedit"
	"github.com/toolhost/toolhost/builtin/internal/todo"
	"github.com/toolhost/toolhost/builtin/internal/webfetch"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/store/seal"
)

// Options shape the tools.
type Options struct {
	// Unescape says how edit_file reads escapes in what it looks for: "contract",
	// "fallback" or "never"; "" means "contract".
	Unescape string
	// Seal is the key of stored web documents. Without one none is used again,
	// because it may have come with the repository.
	Seal *seal.Key
}

// Tools gives the tools over the files of ws; web_fetch reaches what client does.
func Tools(ws *workspace.Workspace, client *netguard.Client, o Options) []tool.Tool {
	return append([]tool.Tool{
		editfile.New(ws, editfile.Options{Unescape: o.Unescape}),
		multiedit.New(ws),
		webfetch.New(ws, client, webfetch.Options{Key: o.Seal}),
		htmlmarkdown.New(ws),
	}, todo.Tools()...)
}
