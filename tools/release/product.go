package main

import (
	"strings"
)

const (
	name        = "toolhost"
	module      = "github.com/toolhost/toolhost"
	homepage    = "https://" + module
	license     = "MIT"
	author      = "The toolhost authors"
	maintainer  = author + " <toolhost@users.noreply.github.com>"
	summary     = "A project's tools for any AI agent: over MCP, on the command line, as schemas"
	description = "toolhost turns a project's agent.hcl into tools that any AI agent can call: over MCP, from the\n" +
		"command line, or through schemas for model APIs. Commands run in a sandbox, and the project's\n" +
		"owner approves what they may do."
	hubSummary     = "Runs toolhost's sessions on many machines"
	hubDescription = "toolhost-hub is hub, worker and gateway of a fleet: clients speak MCP with one address, and\n" +
		"their sessions run on many machines. toolhost starts it for the commands hub, worker and\n" +
		"fleet, and for serve with --hub or --workers."
	// imageName and npmName are where the image and the package would be published.
	imageName = "ghcr.io/toolhost/toolhost"
	npmName   = "@toolhost/toolhost"
	mcpName   = "io.github.toolhost/toolhost"
)

// Limits of downloads and memory. docs/DECISIONS.md has their parts.
const (
	maxProgram = 40 << 20 // toolhost for linux/amd64
	maxArchive = 50 << 20 // its archive, with all helper programs
)

// helpers are the programs that toolhost starts, in libexec.
var helpers = []string{"toolhost-architect", "toolhost-console", "toolhost-otel", "toolhost-task"}

// hub is the program that runs fleets. It contains all of toolhost, for its workers, so it is
// published separately.
const hub = "toolhost-hub"

func programs() []string { return append([]string{name}, helpers...) }

func compiled() []string { return append(programs(), hub) }

var modules = []struct {
	dir      string
	programs []string
}{{".", programs()}, {"fleet", []string{hub}}}

type platform struct{ os, arch string }

var (
	linuxAMD64 = platform{"linux", "amd64"}
	platforms  = []platform{linuxAMD64, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}
)

func (p platform) String() string { return p.os + "/" + p.arch }

// number returns a version without Go's v.
func number(version string) string { return strings.TrimPrefix(version, "v") }
