// Release makes and checks the published files of toolhost: archives, packages, a container image, an MCP
// bundle and their descriptions. The same commit gives the same bytes on every machine.
//
//	go run . key FILE                                       make the key that signs releases, once
//	go run . build --version v0.1.0 --key FILE --dist DIR   make a release of the commit that is checked out
//	go run . verify --key KEY DIR                           check the signature, sums, SBOMs and provenance
//	go run . rebuild --key KEY DIR                          make it again from its commit and compare all bytes
//
// It is a separate module, so that toolhost does not depend on the libraries for packages and images.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "release:", err)
		}
		os.Exit(1)
	}
}

const usage = `usage:
  release key FILE
  release build --version v0.1.0 (--key FILE | --throwaway-key) [--dist DIR] [--short] [--source DIR --commit SHA --time RFC3339]
  release verify --key KEY|FILE DIR
  release rebuild --key KEY|FILE DIR
  release files ARTIFACT DIR`

func run(ctx context.Context, args []string, progress io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	switch args[0] {
	case "key":
		return runKey(args[1:], progress)
	case "build":
		return runBuild(ctx, args[1:], progress)
	case "verify":
		return runVerify(args[1:], progress)
	case "rebuild":
		return runRebuild(ctx, args[1:], progress)
	case "files":
		return runFiles(args[1:])
	}
	return fmt.Errorf("there is no command %q\n%s", args[0], usage)
}

func newFlags(name string, progress io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(progress)
	return flags
}

func runBuild(ctx context.Context, args []string, progress io.Writer) error {
	flags := newFlags("build", progress)
	var b build
	var key keyOptions
	var commitTime string
	flags.StringVar(&b.version, "version", "", "the version, as v1.2.3")
	flags.StringVar(&b.dist, "dist", "dist", "the directory to write; it must be empty or missing")
	flags.BoolVar(&b.short, "short", false, "linux/amd64 only")
	flags.StringVar(&b.source, "source", "", "a directory with the source of the commit, instead of this repository")
	flags.StringVar(&b.commit, "commit", "", "with --source: the commit that it is of")
	flags.StringVar(&commitTime, "time", "", "with --source: the time of that commit, RFC 3339")
	flags.StringVar(&key.file, "key", "", "the file with minisign's secret key (its password: RELEASE_KEY_PASSWORD)")
	flags.BoolVar(&key.throwaway, "throwaway-key", false,
		"sign with a key that is made now and forgotten: for tests, worth nothing to anybody else")
	flags.BoolVar(&key.none, "unsigned", false, "do not sign")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b.progress = progress
	if err := key.check(); err != nil {
		return err
	}
	if err := b.resolve(ctx, commitTime); err != nil {
		return err
	}
	if err := b.run(ctx); err != nil {
		return err
	}
	return key.sign(b.dist, b.version, progress)
}

func runVerify(args []string, progress io.Writer) error {
	dir, key, err := verifyArgs("verify", args, progress)
	if err != nil {
		return err
	}
	report, err := verify(dir, key)
	if err != nil {
		return err
	}
	fmt.Fprintln(progress, report)
	return nil
}

func runRebuild(ctx context.Context, args []string, progress io.Writer) error {
	dir, key, err := verifyArgs("rebuild", args, progress)
	if err != nil {
		return err
	}
	return rebuild(ctx, dir, key, progress)
}

func runFiles(args []string) error {
	if len(args) != 2 {
		return errors.New(usage)
	}
	files, err := readArtifact(args[0])
	if err != nil {
		return err
	}
	return writeFiles(args[1], files)
}

func verifyArgs(name string, args []string, progress io.Writer) (dir, key string, err error) {
	flags := newFlags(name, progress)
	flags.StringVar(&key, "key", "", "minisign's public key, or a file with it; not from where the release is from")
	if err := flags.Parse(args); err != nil {
		return "", "", err
	}
	if flags.NArg() != 1 || key == "" {
		return "", "", errors.New(usage)
	}
	dir, err = filepath.Abs(flags.Arg(0))
	return dir, key, err
}
