package gateway

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// repository is the parsed URL of a repository or prefix: it is compared by whole components.
type repository struct {
	scheme, host string
	path         []string
}

// Schemes, hosts and path components allowed in a URL. Others could mean another place to git
// than to the comparison.
var (
	repositorySchemes = []string{"https", "ssh", "file"}
	repositoryHost    = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$`)
	repositoryPart    = regexp.MustCompile(`^[A-Za-z0-9._~+-]+$`)
	repositoryCommit  = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

// parseRepository parses a URL. A path may end with a slash.
func parseRepository(address string) (r repository, err error) {
	scheme, rest, _ := strings.Cut(address, "://")
	host, path, slash := strings.Cut(rest, "/")
	r.scheme, r.host = strings.ToLower(scheme), strings.ToLower(host)
	switch {
	case !slices.Contains(repositorySchemes, r.scheme):
		return r, fmt.Errorf("%q: write SCHEME://HOST/PATH, with one of the schemes %s", address,
			strings.Join(repositorySchemes, ", "))
	case r.scheme == "file" && host != "", r.scheme != "file" && !repositoryHost.MatchString(host):
		return r, fmt.Errorf("%q: the host %q is not plain; leave out a user", address, host)
	case !slash:
		return r, fmt.Errorf("%q has no slash after the host: write %s/", address, address)
	}
	if path = strings.TrimSuffix(path, "/"); path == "" {
		return r, nil
	}
	r.path = strings.Split(path, "/")
	for _, part := range r.path {
		if !repositoryPart.MatchString(part) || part == "." || part == ".." {
			return r, fmt.Errorf("%q: the part %q of the path is not plain: use letters, digits and ._~+-", address, part)
		}
	}
	return r, nil
}

// has reports whether other is the same place or below it.
func (r repository) has(other repository) bool {
	return r.scheme == other.scheme && r.host == other.host && len(r.path) <= len(other.path) &&
		slices.Equal(r.path, other.path[:len(r.path)])
}

func (r repository) String() string {
	return r.scheme + "://" + r.host + "/" + strings.Join(r.path, "/")
}

// repository returns the URL@COMMIT that a tenant's session names, as git gets it.
func (t *Tenant) repository(asked string) (string, error) {
	i := strings.LastIndexByte(asked, '@')
	if i < 0 || !repositoryCommit.MatchString(asked[i+1:]) {
		return "", tool.Errorf(tool.InvalidArgument, "the repository %q names no commit", asked).
			Suggest("Write URL@COMMIT, with all 40 digits.")
	}
	r, err := parseRepository(asked[:i])
	if err != nil {
		return "", tool.Errorf(tool.InvalidArgument, "the repository cannot be used: %w", err).
			Suggest("Write it as https://HOST/PATH@COMMIT.")
	}
	if !slices.ContainsFunc(t.git, func(prefix repository) bool { return prefix.has(r) }) {
		return "", tool.Errorf(tool.PermissionDenied, "%s may not name the repository %s", t.Name, r).
			Suggest("The operator of the fleet allows it with git = [\"URL\"] in the tenant's block.")
	}
	return r.String() + asked[i:], nil
}
