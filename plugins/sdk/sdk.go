// Package sdk is for authors of toolhost plugins. A plugin is a program whose main function calls
// [Serve]:
//
//	type Input struct {
//		Text string `json:"text" jsonschema:"The text to count in."`
//	}
//
//	type Output struct {
//		Words int `json:"words"`
//	}
//
//	func count(ctx context.Context, call *sdk.Call, in Input) (Output, error) {
//		return Output{Words: len(strings.Fields(in.Text))}, nil
//	}
//
//	func main() {
//		sdk.Serve(sdk.Plugin{
//			Name:    "wordcount",
//			Version: "1.0.0",
//			Tools: []sdk.Tool{sdk.Func(sdk.Definition{
//				Name:        "count_words",
//				Description: "Counts the words of a text. Returns: the number of words.",
//				Risk:        sdk.ReadOnly,
//			}, count)},
//		})
//	}
//
// The types are those of host/tool, under the same names.
package sdk

import (
	"context"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/wire"
	"github.com/toolhost/toolhost/plugins/sdk/typed"
)

// ProtocolVersion is the newest supported version of the plugin protocol.
const ProtocolVersion = wire.ProtocolVersion

// The contract between host and tools; see package host/tool.
type (
	Tool           = tool.Tool
	Planner        = tool.Planner
	ErrorRenderer  = tool.ErrorRenderer
	Normalizer     = tool.Normalizer
	Commander      = tool.Commander
	Definition     = tool.Definition
	Example        = tool.Example
	Risk           = tool.Risk
	Permission     = tool.Permission
	Call           = tool.Call
	Services       = tool.Services
	Progress       = tool.Progress
	State          = tool.State
	Scope          = tool.Scope
	Form           = tool.Form
	Answer         = tool.Answer
	InputRequired  = tool.InputRequired
	Question       = tool.Question
	SampleRequest  = tool.SampleRequest
	SampleResponse = tool.SampleResponse
	Plan           = tool.Plan
	Result         = tool.Result
	Content        = tool.Content
	ContentKind    = tool.ContentKind
	Artifact       = tool.Artifact
	Error          = tool.Error
	Code           = tool.Code
)

// The risk levels.
const (
	ReadOnly  = tool.ReadOnly
	SafeWrite = tool.SafeWrite
	Dangerous = tool.Dangerous
)

// The permissions known to the host.
const (
	FileRead  = tool.FileRead
	FileWrite = tool.FileWrite
	ShellExec = tool.ShellExec
	Network   = tool.Network
	EnvRead   = tool.EnvRead
	EnvWrite  = tool.EnvWrite
)

// The scopes of state.
const (
	SessionScope    = tool.SessionScope
	PersistentScope = tool.PersistentScope
)

// The kinds of content.
const (
	KindText     = tool.KindText
	KindImage    = tool.KindImage
	KindAudio    = tool.KindAudio
	KindResource = tool.KindResource
	KindLink     = tool.KindLink
)

// The canonical error codes.
const (
	InvalidArgument      = tool.InvalidArgument
	NotFound             = tool.NotFound
	AlreadyExists        = tool.AlreadyExists
	PathOutsideWorkspace = tool.PathOutsideWorkspace
	PermissionDenied     = tool.PermissionDenied
	Denied               = tool.Denied
	NeedsConfirmation    = tool.NeedsConfirmation
	NotUnique            = tool.NotUnique
	NoMatch              = tool.NoMatch
	NoChange             = tool.NoChange
	Conflict             = tool.Conflict
	BinaryFile           = tool.BinaryFile
	TooLarge             = tool.TooLarge
	Timeout              = tool.Timeout
	Cancelled            = tool.Cancelled
	CommandNotFound      = tool.CommandNotFound
	CommandFailed        = tool.CommandFailed
	Blocked              = tool.Blocked
	Unavailable          = tool.Unavailable
	Unsupported          = tool.Unsupported
	Internal             = tool.Internal
	IsDirectory          = tool.IsDirectory
	NotADirectory        = tool.NotADirectory
)

// ErrInputRequired is returned by Call.Ask if the user must be asked first: the tool must return it at
// once, unchanged, and is called again with the answer.
var ErrInputRequired = tool.ErrInputRequired

// Errorf returns an error that the caller can act on; see [tool.Errorf].
func Errorf(code Code, format string, args ...any) *Error { return tool.Errorf(code, format, args...) }

// Text returns a result of one text.
func Text(s string) *Result { return tool.Text(s) }

// JSON returns a result of data; see [tool.JSON].
func JSON(v any) *Result { return tool.JSON(v) }

// Func makes a tool of a function. The struct In's fields are the parameters, Out is the result; both schemas are
// inferred. See [typed.Func] and, for the struct tags, [typed.Schema].
func Func[In, Out any](definition Definition, fn func(context.Context, *Call, In) (Out, error)) Tool {
	return typed.Func(definition, fn)
}
