package installation

import "runtime"

// way is what people read about a channel. PROGRAM stands for a helper
// program, VERSION and NUMBER for a version with and without its v, PACKAGE for
// the package, SELF for the file of this program. add is for a program that is
// published by itself; "" where it is as restore.
type way struct{ describe, restore, add, remove, update string }

const (
	goInstall  = "go install github.com/toolhost/toolhost/cmd/PROGRAM@VERSION"
	deleteSelf = "Delete SELF, and toolhost-task, toolhost-architect, toolhost-console, toolhost-otel and toolhost-hub beside it."
	published  = "PROGRAM_NUMBER_" + runtime.GOOS + "_" + runtime.GOARCH
	addBeside  = "PROGRAM is published by itself: unpack the archive " + published + " of the same release, and put its " +
		"directory libexec/toolhost on PATH."
	asBefore = "Install version VERSION as this one was; docs/INSTALL.md has a line for each way."
)

var ways = map[Name]way{
	Archive: {
		describe: "from an archive",
		restore:  "Unpack the whole archive of version VERSION, with its directory libexec.",
		add: "PROGRAM is published by itself: unpack the archive " + published + " of the same release into the " +
			"directory that this one was unpacked into.",
		remove: "Delete the directory of the archive: SELF is in it.",
		update: asBefore,
	},
	Deb: {
		describe: "as the deb package PACKAGE",
		restore: "Install the package PACKAGE VERSION again: `sudo apt-get install --reinstall PACKAGE`, or dpkg -i " +
			"with its file.",
		add:    "PROGRAM is a package of its own in the same release: `sudo apt-get install ./FILE.deb` with its file.",
		remove: "Remove those with `sudo apt-get remove PACKAGE`.",
		update: "Install the package PACKAGE VERSION: `sudo apt-get install ./FILE.deb`.",
	},
	RPM: {
		describe: "as the rpm package PACKAGE",
		restore: "Install the package PACKAGE VERSION again: `sudo dnf reinstall PACKAGE`, or rpm --reinstall with " +
			"its file.",
		add:    "PROGRAM is a package of its own in the same release: `sudo rpm -i FILE.rpm` with its file.",
		remove: "Remove those with `sudo rpm -e PACKAGE`.",
		update: "Install the package PACKAGE VERSION: `sudo rpm -U FILE.rpm`.",
	},
	NPM: {
		describe: "as the npm package PACKAGE",
		restore:  "Run `npm install -g PACKAGE@NUMBER`.",
		add:      addBeside,
		remove:   "Remove those with `npm uninstall -g PACKAGE`.",
		update:   "npm install -g PACKAGE@NUMBER",
	},
	Homebrew: {
		describe: "as the homebrew package PACKAGE",
		restore:  "Run `brew reinstall PACKAGE`.",
		add:      addBeside,
		remove:   "Remove those with `brew uninstall PACKAGE`.",
		update:   "brew upgrade PACKAGE",
	},
	Image: {
		describe: "in a container image",
		restore:  "Use the image of version VERSION as it is; it has all programs of toolhost.",
		add:      addBeside,
		remove:   "Remove the image.",
		update:   "Use the image of version VERSION.",
	},
	MCPB: {
		describe: "as an MCP bundle",
		restore:  "Install the bundle of version VERSION again.",
		add:      addBeside,
		remove:   "Remove the bundle in the client.",
		update:   "Install the bundle of version VERSION in the client.",
	},
	GoInstall: {
		describe: "by go install",
		restore:  "Run `" + goInstall + "`.",
		remove:   deleteSelf,
		update:   goInstall,
	},
	Clone: {
		describe: "built from a clone",
		restore:  "Run `make build` in the clone of toolhost, or `go install ./cmd/PROGRAM` there.",
		remove:   deleteSelf,
		update:   "In the clone: git fetch --tags, git checkout VERSION, make build.",
	},
	Embedded: {
		describe: "part of another program",
		restore:  "Run `" + goInstall + "`.",
		remove:   deleteSelf,
		update:   "Update the module github.com/toolhost/toolhost in the program that it is part of.",
	},
	Unknown: {
		describe: "not known: built without git, and no package",
		restore:  "Run `" + goInstall + "`, or `make build` in toolhost's source, and keep it beside toolhost.",
		remove:   deleteSelf,
		update:   asBefore,
	},
}
