// Package newer finds out which version of toolhost is the newest, where the
// user has said who knows: a file or an address. Nothing asks it by itself.
package newer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/keep/userdir"
	"github.com/toolhost/toolhost/internal/loopback"
)

// Latest is what a source says.
type Latest struct {
	Version string `json:"version"`
	Page    string `json:"page,omitempty"` // where to read about it
}

const (
	patience = 15 * time.Second
	limit    = 1 << 20 // of what a source says, in bytes
)

// Source is what the user's configuration names, and the file in which it
// does or would.
func Source() (source, file string, err error) {
	file, err = userdir.Dir("where newer versions are looked for", "update-source")
	if err != nil {
		return "", "", err
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", file, nil
	}
	if err != nil {
		return "", file, tool.Errorf(tool.Unavailable, "%s cannot be read: %w", file, err).
			Suggest("Make it readable for this user.")
	}
	return strings.TrimSpace(string(text)), file, nil
}

// Ask reads what the source says: a JSON object with the member version, or
// tag_name, and html_url where there is more to read.
func Ask(ctx context.Context, source string) (*Latest, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	text, err := read(ctx, source)
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "%s cannot be read: %w", source, err).
			Suggest("Check the file or the address, and the network.")
	}
	var says struct {
		Version string `json:"version"`
		TagName string `json:"tag_name"`
		Page    string `json:"html_url"`
	}
	err = json.Unmarshal(text, &says)
	latest := &Latest{Version: says.Version, Page: says.Page}
	if latest.Version == "" {
		latest.Version = says.TagName
	}
	if latest.Version != "" && latest.Version[0] != 'v' {
		latest.Version = "v" + latest.Version
	}
	if err != nil || !semver.IsValid(latest.Version) {
		return nil, tool.Errorf(tool.Unavailable, "%s does not name a version", source).
			Suggest(`It has to be a JSON object such as {"version": "v1.2.3"}.`)
	}
	return latest, nil
}

func read(ctx context.Context, source string) ([]byte, error) {
	if u, err := url.Parse(source); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
		return get(ctx, u)
	}
	if !filepath.IsAbs(source) {
		return nil, errors.New("it is neither an absolute path nor an address that begins with https://")
	}
	info, err := os.Stat(source)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, errors.New("it is no file of at most 1 MiB")
	}
	return os.ReadFile(source)
}

func get(ctx context.Context, u *url.URL) ([]byte, error) {
	if err := secure(u); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "toolhost") // no version: nobody is to count who has which
	request.Header.Set("Accept", "application/json")
	client := &http.Client{CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) >= 5 {
			return errors.New("it redirects too often")
		}
		return secure(next.URL)
	}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err == nil && len(text) > limit {
		err = errors.New("it answers more than 1 MiB")
	}
	return text, err
}

// secure refuses what somebody on the way could change, but on this machine.
func secure(u *url.URL) error {
	if u.Scheme == "https" || u.Scheme == "http" && loopback.Is(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%s is not an https address", u)
}
