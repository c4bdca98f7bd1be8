// Command toolhost-plugin-clemini is the clemini plugin as a program of its
// own.
package main

import (
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/plugins/sdk"
	"github.com/toolhost/toolhost/plugins/shipped/clemini"
)

func main() {
	background.Main()
	sdk.Serve(clemini.Plugin())
}
