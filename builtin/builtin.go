// Package builtin has toolhost's built-in tools, one in each package below builtin/internal.
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
	"github.com/toolhost/toolhost/internal/store/hmackey"
)

// Options configure the tools.
type Options struct {
	// Unescape is how edit_file reads escapes in its strings: "contract" (also ""),
	// "fallback" or "never".
	Unescape string
	// Key is the key of stored web documents. Without it they are not used again: the repository
	// may have brought them.
	Key *hmackey.Key
}

// Tools returns the tools for the files of ws; web_fetch uses client.
func Tools(ws *workspace.Workspace, client *netguard.Client, o Options) []tool.Tool {
	return append([]tool.Tool{
		editfile.New(ws, editfile.Options{Unescape: o.Unescape}),
		multiedit.New(ws),
		webfetch.New(ws, client, webfetch.Options{Key: o.Key}),
		htmlmarkdown.New(ws),
	}, todo.Tools()...)
}
