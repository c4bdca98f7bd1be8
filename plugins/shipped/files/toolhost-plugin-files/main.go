// Command toolhost-plugin-files is the files plugin as a program of its own.
package main

import (
	"github.com/toolhost/toolhost/plugins/sdk"
	"github.com/toolhost/toolhost/plugins/shipped/files"
)

func main() { sdk.Serve(files.Plugin()) }
