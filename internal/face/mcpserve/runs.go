package mcpserve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/plainfile"
	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

// A result that shows part of a command's output links to the whole, which clients read as a resource,
// page by page:
//
//	toolhost://run/ID/stdout
//	toolhost://run/ID/stdout?offset=262144&length=65536
//
// The ID is the call's session and step, so that a link outlives its connection.

const (
	runTemplate = "toolhost://run/{id}/{stream}"
	// pageSize is the default and maxPage the most that one read returns, in bytes.
	pageSize = 256 << 10
	maxPage  = 1 << 20
)

// offerRuns lets clients read the output of calls, if it is kept.
func (s *Server) offerRuns() {
	if s.host.Session("any").ArtifactDir() == "" {
		return
	}
	for _, template := range []string{runTemplate, runTemplate + "{?offset,length}"} {
		s.sdk.AddResourceTemplate(&mcp.ResourceTemplate{
			Name: "run_output", Title: "Output of a call", MIMEType: "text/plain", URITemplate: template,
			Description: "The whole output of a command whose result shows a part of it: stdout or stderr. " +
				"offset and length, in bytes, choose a page; the page's _meta tells the size of the whole and where the next page is.",
		}, s.readRun)
	}
}

// runLinks returns links to the whole of what a result shows in part.
func (s *Server) runLinks(session *host.Session, outcome *host.Outcome) []mcp.Content {
	if !outcome.Result.Truncated {
		return nil
	}
	dir := session.ArtifactDir()
	if dir == "" {
		return nil
	}
	var links []mcp.Content
	artifacts := slices.Clone(outcome.Result.Artifacts)
	slices.SortFunc(artifacts, func(a, b tool.Artifact) int { return strings.Compare(b.Name, a.Name) })
	for _, a := range artifacts {
		at := a.Path
		if !filepath.IsAbs(at) {
			at = filepath.Join(s.host.Root(), at)
		}
		if at == filepath.Join(dir, filepath.FromSlash(record.LogName(outcome.Step, a.Name))) {
			size := a.Bytes
			link := &mcp.ResourceLink{
				URI:  fmt.Sprintf("toolhost://run/%s.%d/%s", session.Name(), outcome.Step, a.Name),
				Name: a.Name, MIMEType: "text/plain", Size: &size,
				Description: fmt.Sprintf("The whole %s of this call, %d bytes. Append ?offset=N for the page from byte N.", a.Name, size),
			}
			links = append(links, link)
		}
	}
	return links
}

type runPage struct {
	uri            string // without the query
	session        string
	step           int
	stream         string
	offset, length int64
}

// readRun serves resources/read of a call's output.
func (s *Server) readRun(_ context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	page, err := parseRun(request.Params.URI)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	data, size, err := s.readPage(page)
	if err != nil {
		return nil, mcp.ResourceNotFoundError(request.Params.URI)
	}
	contents := &mcp.ResourceContents{URI: request.Params.URI, MIMEType: "text/plain"}
	if text := truncate.TrimEnd(data); utf8.Valid(text) && (len(text) > 0 || len(data) == 0) {
		data, contents.Text = text, string(text)
	} else {
		contents.MIMEType, contents.Blob = "application/octet-stream", data
	}
	contents.Meta = mcp.Meta{"toolhost/offset": page.offset, "toolhost/size": size}
	if next := page.offset + int64(len(data)); next < size && len(data) > 0 {
		contents.Meta["toolhost/next"] = fmt.Sprintf("%s?offset=%d&length=%d", page.uri, next, page.length)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
}

func parseRun(uri string) (runPage, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return runPage{}, errors.New("not a link to a call's output")
	}
	id, stream := path.Split(strings.TrimPrefix(u.Path, "/"))
	id = strings.TrimSuffix(id, "/")
	dot := strings.LastIndexByte(id, '.')
	p := runPage{uri: u.Scheme + "://" + u.Host + u.Path, session: id[:max(dot, 0)], stream: stream, length: pageSize}
	p.step, err = strconv.Atoi(id[dot+1:])
	if u.Host != "run" || err != nil || p.step < 1 || record.ValidSession(p.session) != nil ||
		stream != "stdout" && stream != "stderr" {
		return runPage{}, errors.New("a link to a call's output looks like toolhost://run/SESSION.STEP/stdout")
	}
	query := u.Query()
	for name, into := range map[string]*int64{"offset": &p.offset, "length": &p.length} {
		if !query.Has(name) {
			continue
		}
		if *into, err = strconv.ParseInt(query.Get(name), 10, 64); err != nil || *into < 0 {
			return runPage{}, fmt.Errorf("%s must be a number of bytes, not %q", name, query.Get(name))
		}
	}
	p.length = max(1, min(p.length, maxPage))
	return p, nil
}

func (s *Server) readPage(p runPage) (data []byte, size int64, err error) {
	file, err := s.openRun(p)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	data, err = io.ReadAll(io.NewSectionReader(file, p.offset, p.length))
	return data, info.Size(), err
}

// openRun opens a kept output: regular files only, and no link out of the workspace.
func (s *Server) openRun(p runPage) (*os.File, error) {
	base, name := s.host.Session(p.session).ArtifactDir(), record.LogName(p.step, p.stream)
	if rel, err := filepath.Rel(s.host.Root(), base); err == nil && filepath.IsLocal(rel) {
		base, name = s.host.Root(), filepath.ToSlash(rel)+"/"+name
	}
	root, err := plainfile.Root(base)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := plainfile.OpenIn(root, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	return file, nil
}
