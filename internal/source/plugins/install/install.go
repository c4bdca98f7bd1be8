package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/versions"
)

// Room is what a plugin's build may access besides what every program may read: it writes below Write, reads
// below Read, and does not see Hide.
type Room struct {
	Write      string
	Read, Hide []string
}

// Installer installs plugins into a store.
type Installer struct {
	Store *Store
	// Client fetches remote files.
	Client *netguard.Client
	// Inspect starts a plugin's program and returns its description.
	Inspect func(ctx context.Context, program string) (*plugins.Description, error)
	// Confine confines a command to a room, without network. Modules are built only with it.
	Confine func(cmd *exec.Cmd, room Room) error
	// Say reports slow steps to the user. May be nil.
	Say func(string)
	// MaxBytes bounds a plugin's files together. Zero means 1 GiB.
	MaxBytes int64
}

func (in *Installer) limit() int64 {
	if in.MaxBytes > 0 {
		return in.MaxBytes
	}
	return maxBytes
}

// Request is what to install.
type Request struct {
	// Source is a path or an https address, with {version}, {os} and {arch} expanded.
	Source string
	// Version is the version to install; by default the newest that Constraint allows.
	Version    string
	Constraint versions.Constraint
	// SHA256 is the required checksum of the archive or program, in hex. Empty accepts any.
	SHA256 string
	// Key is the minisign public key required for the signature. If empty, signatures are not verified.
	Key string
	// Program is the required checksum of the plugin's program. Empty accepts any.
	Program string
	// Name is the required name of the plugin. Empty accepts any.
	Name string
	// Floor returns the version below which a plugin is refused, to prevent unintended downgrades, or "". Nil
	// accepts any version.
	Floor func(name string) string
	// Agree, unless nil, decides about the plugin before it is installed.
	Agree func(*Manifest) error
	// SkipTests skips a Go module's tests.
	SkipTests bool
}

// Install installs a plugin. Nothing changes unless all requirements hold. The error is a *tool.Error.
func (in *Installer) Install(ctx context.Context, r Request) (*Installed, error) {
	stage, err := in.Store.stage()
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "plugins cannot be installed: %w",
			err).Suggest("Make the directory writable, or set XDG_DATA_HOME.")
	}
	defer os.RemoveAll(stage)
	installed, err := in.install(ctx, r, stage)
	if err != nil {
		return nil, told(r.Source, err)
	}
	return installed, nil
}

// told makes an internal error one about the source.
func told(source string, err error) error {
	if tool.CodeOf(err) != tool.Internal {
		return err
	}
	return tool.Errorf(tool.InvalidArgument, "%s cannot be installed: %w", source, err).
		Suggest("Ask the plugin's author for a release that is whole.")
}

func (in *Installer) install(ctx context.Context, r Request, stage string) (*Installed, error) {
	unpacked := filepath.Join(stage, "unpacked")
	if err := os.Mkdir(unpacked, 0o755); err != nil {
		return nil, err
	}
	c, err := in.fetch(ctx, r, unpacked)
	if err != nil {
		return nil, err
	}
	signature, err := c.check(r)
	if err != nil {
		return nil, err
	}
	if err := c.unpack(in.limit()); err != nil {
		return nil, err
	}
	c.unwrap()
	m, err := in.inspectPlugin(ctx, r, c)
	if err != nil {
		return nil, err
	}
	m.Signature = signature
	if r.Agree != nil {
		if err := r.Agree(m); err != nil {
			return nil, err
		}
	}
	final, err := os.MkdirTemp(filepath.Dir(stage), stagePrefix)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(final)
	if err := os.Rename(c.dir, filepath.Join(final, filesName)); err != nil {
		return nil, err
	}
	return in.Store.commitStage(final, *m)
}

// check verifies the requested checksum and key.
func (c *content) check(r Request) (Signature, error) {
	if r.SHA256 == "" && r.Key == "" && c.signature == nil {
		return Signature{State: Unsigned}, nil
	}
	if c.file == nil {
		return Signature{}, tool.Errorf(tool.InvalidArgument,
			"%s is a directory, which has neither checksum nor signature", r.Source).
			Suggest("Install it without them, or an archive of it.")
	}
	sum := sha256.Sum256(c.file)
	if got := hex.EncodeToString(sum[:]); r.SHA256 != "" && !strings.EqualFold(got, r.SHA256) {
		return Signature{}, tool.Errorf(tool.Blocked, "the SHA-256 of %s is %s, not %s", c.fileName, got,
			strings.ToLower(r.SHA256)).
			Suggest("Do not use it. Compare the checksum with the one that its author publishes.")
	}
	return checkSignature(c.fileName, c.file, c.signature, r.Key)
}

// inspectPlugin determines what the plugin is, finally by starting it.
func (in *Installer) inspectPlugin(ctx context.Context, r Request, c *content) (*Manifest, error) {
	program, says, err := c.program()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(c.dir, filepath.FromSlash(program))
	from := r.Source
	if !isURL(from) {
		if from, err = filepath.Abs(from); err != nil {
			return nil, err
		}
	}
	m := &Manifest{Platform: Platform(), Program: program, From: from,
		InstalledAt: time.Now().UTC().Truncate(time.Second)}
	if m.SHA256, err = hashFile(path); err != nil {
		return nil, err
	}
	if r.Program != "" && m.SHA256 != r.Program {
		return nil, tool.Errorf(tool.Blocked,
			"the program in %s is not the one that was locked: its SHA-256 is %s, not %s", r.Source, m.SHA256,
			r.Program).
			Suggest("If the change is meant, run toolhost plugin update; otherwise find out who made it.")
	}
	if m.Tree, err = hashTree(c.dir); err != nil {
		return nil, err
	}
	in.say("asking %s what it is", filepath.Base(program))
	if m.Description, err = in.Inspect(ctx, path); err != nil {
		return nil, err
	}
	m.Name, m.Version = m.Description.Name, m.Description.Version
	return m, agree(r, c, says, m)
}

// agree refuses a plugin that differs from its package file or the request.
func agree(r Request, c *content, says packaged, m *Manifest) error {
	if err := checkName(m.Name); err != nil {
		return tool.Errorf(tool.InvalidArgument, "the plugin calls itself %q: %w", m.Name,
			err).Suggest("Tell its author.")
	}
	if !versions.Valid(m.Version) {
		return tool.Errorf(tool.InvalidArgument, "plugin %s has the version %q, which has to be one like 1.2.3", m.Name,
			m.Version).Suggest("Tell its author.")
	}
	for _, other := range []struct{ what, wanted, got string }{
		{"name", says.Name, m.Name}, {"name", r.Name, m.Name},
		{"version", says.Version, m.Version}, {"version", c.version, m.Version}, {"version", r.Version, m.Version},
	} {
		if other.wanted != "" && other.wanted != other.got {
			return tool.Errorf(tool.Conflict, "the plugin of %s says that its %s is %s, and it should be %s", r.Source,
				other.what, other.got, other.wanted).
				Suggest("Ask the plugin's author for a release that is whole.")
		}
	}
	if r.Floor != nil {
		if floor := r.Floor(m.Name); floor != "" && versions.Compare(m.Version, floor) < 0 {
			return tool.Errorf(tool.Conflict, "plugin %s would go back from version %s to %s", m.Name, floor,
				m.Version).
				Suggest("If that is meant, name the version: --version %s.", m.Version)
		}
	}
	if !r.Constraint.Allows(m.Version) {
		return tool.Errorf(tool.Conflict, "plugin %s has version %s, which is not %s", m.Name, m.Version, r.Constraint).
			Suggest("Install another version, or change what is asked for.")
	}
	return nil
}

func (in *Installer) say(format string, args ...any) {
	if in.Say != nil {
		in.Say(fmt.Sprintf(format, args...))
	}
}

// Checksums returns the program's checksums for other platforms, if the source has them: by {os} and {arch} in an
// address, or in a layout. Nothing is run.
func (in *Installer) Checksums(ctx context.Context, source, version, program string,
	platforms []string) (map[string]string, error) {
	sums := make(map[string]string)
	for _, platform := range platforms {
		sum, err := in.checksum(ctx, source, version, program, platform)
		if err != nil {
			return nil, told(source, err)
		}
		sums[platform] = sum
	}
	return sums, nil
}

func (in *Installer) checksum(ctx context.Context, source, version, program, platform string) (string, error) {
	stage, err := in.Store.stage()
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(stage)
	c, address := &content{dir: stage}, expand(source, version, platform)
	if isURL(source) {
		if address == expand(source, version, "other_other") {
			return "", tool.Errorf(tool.InvalidArgument, "%s is the same for all platforms",
				source).Suggest("An address for several platforms has {os} and {arch} in it.")
		}
		c, err = in.fetchURL(ctx, address, stage)
	} else {
		var path string
		if path, err = layoutPath(address, version, platform); err == nil && isArchive(path) {
			c, err = fetchFile(path, stage)
		} else if err == nil {
			c.dir = path
		}
	}
	if err == nil {
		err = c.unpack(in.limit())
	}
	if err != nil {
		return "", err
	}
	c.unwrap()
	return hashFile(filepath.Join(c.dir, filepath.FromSlash(program)))
}
