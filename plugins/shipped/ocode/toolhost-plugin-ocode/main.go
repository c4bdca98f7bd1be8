// Command toolhost-plugin-ocode is the ocode plugin as a program of its
// own.
package main

import (
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/plugins/sdk"
	"github.com/toolhost/toolhost/plugins/shipped/ocode"
)

func main() {
	background.Main()
	sdk.Serve(ocode.Plugin())
}
