package mcpserve

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// refreshResources offers a catalog's resources instead and notifies clients of changes.
func (s *Server) refreshResources(catalog *host.Catalog) {
	gone := s.resources
	s.resources = make(map[string]*host.Entry)
	for _, entry := range catalog.Resources() {
		def := entry.Tool.(tool.Resource).Resource()
		if before := gone[def.URI]; before == nil || !same(before.Tool.(tool.Resource).Resource(), def) {
			s.addResource(def)
		}
		s.resources[def.URI] = entry
		delete(gone, def.URI)
	}
	for uri, entry := range gone {
		if entry.Tool.(tool.Resource).Resource().Template {
			s.sdk.RemoveResourceTemplates(uri)
		} else {
			s.sdk.RemoveResources(uri)
		}
	}
}

func (s *Server) addResource(def *tool.ResourceDefinition) {
	if def.Template {
		s.sdk.AddResourceTemplate(&mcp.ResourceTemplate{
			Name: def.Name, Title: def.Title, Description: def.Description, MIMEType: def.MIMEType,
			URITemplate: def.URI,
		}, s.readResource)
		return
	}
	s.sdk.AddResource(&mcp.Resource{
		Name: def.Name, Title: def.Title, Description: def.Description, MIMEType: def.MIMEType, URI: def.URI,
	}, s.readResource)
}

// readResource serves resources/read. A resource has no error result, so a failure is a protocol error.
func (s *Server) readResource(ctx context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	conn := connOf(ctx)
	ctx, done, err := conn.begin(ctx)
	if err != nil {
		return nil, failure(tool.AsError(err))
	}
	defer done()
	outcome, open, err := s.callWithQuestions(ctx, conn, fromRead(request), conn.session.Read)
	switch {
	case err != nil:
		return nil, err
	case open != nil:
		return &mcp.ReadResourceResult{InputRequests: open.requests, RequestState: open.state}, nil
	case outcome.Err != nil && outcome.Err.Code == tool.NotFound:
		return nil, mcp.ResourceNotFoundError(request.Params.URI)
	case outcome.Err != nil:
		return nil, failure(outcome.Err)
	}
	result := &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{}}
	for _, c := range outcome.Result.Contents {
		result.Contents = append(result.Contents,
			&mcp.ResourceContents{URI: c.URI, MIMEType: c.MIMEType, Text: c.Text, Blob: c.Data})
	}
	return result, nil
}

// serverError is JSON-RPC's code for other errors.
const serverError = -32000

func failure(e *tool.Error) error {
	code := int64(serverError)
	switch e.Code {
	case tool.InvalidArgument, tool.NotFound:
		code = jsonrpc.CodeInvalidParams
	case tool.Internal:
		code = jsonrpc.CodeInternalError
	}
	return &jsonrpc.Error{Code: code, Message: e.Message + ". " + e.Suggestion,
		Data: tool.MustMarshal(map[string]any{"code": e.Code})}
}

// subscribe accepts subscriptions of existing resources.
func (s *Server) subscribe(_ context.Context, request *mcp.SubscribeRequest) error {
	if _, _, err := s.host.Catalog().Resource(request.Params.URI); err != nil {
		return mcp.ResourceNotFoundError(request.Params.URI)
	}
	return nil
}

// ResourceChanges returns a function that checks once and notifies subscribers of watched resources
// whose file changed since the last call.
func (s *Server) ResourceChanges(ctx context.Context) func() {
	var mu sync.Mutex
	last := s.watched()
	return func() {
		mu.Lock()
		defer mu.Unlock()
		now := s.watched()
		for uri, stamp := range now {
			if before, known := last[uri]; known && before != stamp {
				_ = s.sdk.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri})
			}
		}
		last = now
	}
}

// fileStamp identifies a file's state. Zero means no file.
type fileStamp struct {
	size     int64
	modified time.Time
}

// watched returns the states of the files behind watched resources, by URI.
func (s *Server) watched() map[string]fileStamp {
	stamps := make(map[string]fileStamp)
	for _, entry := range s.host.Catalog().Resources() {
		w, ok := entry.Tool.(tool.Watched)
		if !ok {
			continue
		}
		for _, file := range w.Watch() {
			stamp := fileStamp{}
			if info, err := os.Stat(file); err == nil {
				stamp = fileStamp{info.Size(), info.ModTime()}
			}
			stamps[entry.Tool.(tool.Resource).Resource().URI] = stamp
		}
	}
	return stamps
}
