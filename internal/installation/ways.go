package installation

import "runtime"

// way is a channel's texts for people. PROGRAM stands for a helper program,
// VERSION and NUMBER for a version with and without its v, PACKAGE for the
// package. add is for a program that is published separately; "" means restore.
type way struct{ describe, restore, add string }

const (
	goInstall = "go install github.com/toolhost/toolhost/cmd/PROGRAM@VERSION"
	published = "PROGRAM_NUMBER_" + runtime.GOOS + "_" + runtime.GOARCH
	addBeside = "PROGRAM is published by itself: unpack the archive " + published + " of the same release, and put its " +
		"directory libexec/toolhost on PATH."
)

var ways = map[Name]way{
	Archive: {
		describe: "from an archive",
		restore:  "Unpack the whole archive of version VERSION, with its directory libexec.",
		add: "PROGRAM is published by itself: unpack the archive " + published + " of the same release into the " +
			"directory that this one was unpacked into.",
	},
	Deb: {
		describe: "as the deb package PACKAGE",
		restore: "Install the package PACKAGE VERSION again: `sudo apt-get install --reinstall PACKAGE`, or dpkg -i " +
			"with its file.",
		add: "PROGRAM is a package of its own in the same release: `sudo apt-get install ./FILE.deb` with its file.",
	},
	RPM: {
		describe: "as the rpm package PACKAGE",
		restore: "Install the package PACKAGE VERSION again: `sudo dnf reinstall PACKAGE`, or rpm --reinstall with " +
			"its file.",
		add: "PROGRAM is a package of its own in the same release: `sudo rpm -i FILE.rpm` with its file.",
	},
	NPM: {
		describe: "as the npm package PACKAGE",
		restore:  "Run `npm install -g PACKAGE@NUMBER`.",
		add:      addBeside,
	},
	Homebrew: {
		describe: "as the homebrew package PACKAGE",
		restore:  "Run `brew reinstall PACKAGE`.",
		add:      addBeside,
	},
	Image: {
		describe: "in a container image",
		restore:  "Use the image of version VERSION as it is; it has all programs of toolhost.",
		add:      addBeside,
	},
	MCPB: {
		describe: "as an MCP bundle",
		restore:  "Install the bundle of version VERSION again.",
		add:      addBeside,
	},
	GoInstall: {
		describe: "by go install",
		restore:  "Run `" + goInstall + "`.",
		add:      addBeside,
	},
	Clone: {
		describe: "built from a clone",
		restore:  "Run `make build` in the clone of toolhost, or `go install ./cmd/PROGRAM` there.",
		add:      "Run `make build` in the clone of toolhost.",
	},
	Embedded: {
		describe: "part of another program",
		restore:  "Run `" + goInstall + "`.",
		add:      addBeside,
	},
	Unknown: {
		describe: "not known: built without git, and no package",
		restore:  "Run `" + goInstall + "`, or `make build` in toolhost's source, and keep it beside toolhost.",
		add:      addBeside,
	},
}
