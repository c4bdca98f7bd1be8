package config

import (
	"encoding/json"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
)

// Config is what an agent.hcl says. A Pos anywhere in it is a place in the
// file, "agent.hcl:12".
type Config struct {
	// Path is the file, as it was named; Dir its directory.
	Path, Dir string
	// SHA256 is the hash of the file's content, in lower-case hex.
	SHA256 string

	// Instructions are told to clients, for their models, beside what toolhost
	// says of the project itself.
	Instructions string

	Workspace Workspace
	Variables []Variable
	// Tools are the command tools, in the order of the file. What the sandbox
	// grants them is in their Access.
	Tools    []argv.Spec
	Plugins  []Plugin
	Servers  []Server
	Agents   []Agent
	Taskfile *Taskfile // nil when the file has no such block
	Toolsets []Toolset
	Builtins Builtins
	Limits   Limits
	Web      Web
	Record   Record
	// Resources and Prompts are offered to MCP clients beside the tools.
	Resources   []argv.Resource
	Prompts     []argv.Prompt
	Credentials []Credential
	Model       *Model  // nil when the file has no such block
	Policy      *Policy // nil when the file has no such block
	// Granted are the permissions that tools get, by the permissions block;
	// nil, all that they ask for, when the file has none.
	Granted []tool.Permission
	Sandbox *Sandbox
	// ReadOnly has only the standard tools that read be offered: a file that is not
	// approved is in the way. A file itself cannot say so.
	ReadOnly bool
	// Digests are the hashes of the files that blocks with a grant name, as they
	// were when this configuration was approved; see ApprovedFiles. Nil is for one
	// that was not approved for good.
	Digests map[string]string

	// Leads says where symlinks led in the paths of the file when it was judged,
	// see Judge.
	Leads map[string]string

	// Secrets are values from the environment and of sensitive variables, and
	// what was made of them: never to be shown. The longest comes first.
	Secrets []string
	// EnvNames are the environment variables that the file reads.
	EnvNames []string

	file   *hcl.File
	places map[string]hcl.Range      // of examples, by their Pos
	attrs  map[string]hcl.Expression // of attributes, by what At takes
}

// Workspace is the workspace block.
type Workspace struct {
	// Root is the workspace directory: as written, resolved against the
	// file's directory. It is Dir when not written.
	Root string
	// Allow are further trees that tools may use, resolved like Root.
	Allow []string
	// Protect are globs, relative to Root, of what file tools may not write.
	Protect []string
	Pos     string
}

// Variable is a variable block with the value it has in this load.
type Variable struct {
	Name, Description string
	// Value is the value as JSON. It is nil for a sensitive variable.
	Value     json.RawMessage
	Sensitive bool
	// From says where the value is from: "default", "command line" or
	// "environment".
	From string
	Pos  string
}

// Access is what the sandbox grants to a child process beyond the workspace.
type Access = argv.Access

// Plugin is a plugin block.
type Plugin struct {
	Name string
	// Source is what to run: a path, resolved against the file's directory
	// when it begins with a dot, or the name under which one is installed.
	Source string
	// Version is a constraint on the version of an installed plugin, such as
	// "~> 1.2"; it may be empty.
	Version string
	// SHA256 pins the binary, in lower-case hex; it may be empty.
	SHA256 string
	// Config is the undecoded config block.
	Config PluginConfig
	// Prefix goes before the names of its tools.
	Prefix string
	Args   []string
	Env    map[string]string
	// Timeout bounds one call, StartTimeout the start; zero is the default.
	Timeout, StartTimeout time.Duration
	// IdleTimeout is how long it may go unused before it is ended: zero is the
	// default, negative never.
	IdleTimeout time.Duration
	// Permissions are what it is granted. Nil is all that its tools ask for.
	Permissions []tool.Permission
	Access      Access
	Pos         string
}

// Server is an mcp block: another MCP server, whose tools are offered too.
type Server struct {
	Name string
	// Command or URL is set, and only one of them.
	Command []string
	Env     map[string]string
	URL     string
	Headers map[string]string
	OAuth   *OAuth // nil when the block has none
	// Prefix goes before the names of its tools.
	Prefix string
	// Include and Exclude are globs on the server's own tool names. An empty
	// Include takes all.
	Include, Exclude []string
	// Risk overrides what the server says of its tools, by globs on its own
	// names for them.
	Risk map[string]tool.Risk
	// Timeout bounds one call, StartTimeout connecting; zero is the default.
	Timeout, StartTimeout time.Duration
	// Protocol pins the protocol version, "2025-11-25"; empty negotiates.
	Protocol string
	// Roots are the directories that it is told to work in, absolute; nil
	// leaves them to the default.
	Roots  []string
	Access Access
	Pos    string
}

// Taskfile is the taskfile block.
type Taskfile struct {
	// Path is the Taskfile, relative to the workspace.
	Path    string
	Timeout time.Duration // of one run; zero is the default
	Access  Access
	Pos     string
}

// Toolset is a toolset block.
type Toolset struct {
	Name string
	// Tools are the names of the tools, as their sources call them.
	Tools []string
	// Rename gives tools another name in this set.
	Rename map[string]string
	// Search offers MCP clients a search among the tools instead of the list.
	Search bool
	Pos    string
	// Resources and Prompts are the names of those that the set has; none
	// where the block does not name them.
	Resources, Prompts []string
	// ToolPos is the place of each of Tools.
	ToolPos []string
}

// Builtins are the options of builtin tools, from their builtin blocks.
type Builtins struct {
	// Unescape is the option of edit_file: "contract", "fallback" or "never";
	// empty is the default.
	Unescape string
}

// Limits is the limits block. Zero means the default.
type Limits struct {
	Output    int64         // bytes of a result, and of each stream of a command
	Timeout   time.Duration // of one call
	Processes int           // child processes at a time
	Pos       string
}

// Record is the record block. Zero means the default.
type Record struct {
	Keep time.Duration // how long entries stay
	Size int64         // bytes of all that is kept
	// Required has calls fail, before they run, that cannot be recorded.
	Required bool
	// Ignore are patterns, as in a .gitignore file, of what commands may change
	// without its being kept.
	Ignore []string
	Pos    string
}

// Web is the web block.
type Web struct {
	// Allow are addresses, CIDRs or hosts that may be reached although the
	// network guard would refuse them.
	Allow   []string
	Timeout time.Duration
	MaxSize int64 // bytes of a response
	// Search is the URL that web_search asks, empty for the default.
	Search string
	Pos    string
}

// Action is what a policy says of a call: "allow", "review", "ask" or "deny".
type Action string

// The actions.
const (
	Allow  Action = "allow"
	Review Action = "review"
	Ask    Action = "ask"
	Deny   Action = "deny"
)

// Policy is the policy block.
type Policy struct {
	Risks       map[tool.Risk]Action
	Permissions map[tool.Permission]Action
	Rules       []Rule
	Pos         string
}

// Bounds are what the changes of a call under review may be without anybody's word.
type Bounds struct {
	// Files counts paths, Bytes what is written; zero is no bound.
	Files int
	Bytes int64
	// Paths are globs of what may change; none is any.
	Paths []string
	// Deletes lets things be removed.
	Deletes bool
	// Deny has a call denied that goes beyond, instead of somebody asked.
	Deny bool
}

// Rule is a rule of a policy. It matches a call that meets every condition
// that is set.
type Rule struct {
	Name string
	// Tool is the name of a tool.
	Tool string
	// Params is a regular expression on the parameters as compact JSON with
	// sorted keys.
	Params string
	// Command is the beginning of a command line, in words: "git push".
	Command string
	// Paths are globs, relative to the workspace, of places that a call names; see
	// policy. With Review, Limits has them.
	Paths      []string
	Permission tool.Permission
	Risk       tool.Risk
	Action     Action
	// Limits go with Review.
	Limits Bounds
	// Expires is when the rule ceases to match; zero is never.
	Expires  time.Time
	Disabled bool
	Reason   string
	Pos      string
}

// Sandbox is the sandbox block.
type Sandbox struct {
	// Level is "auto", "full", "landlock" or "off".
	Level string
	// Network is true when children have network unless their own block says
	// otherwise. Access of tools, plugins and the like has it worked in.
	Network bool
	// Hosts are what they reach otherwise, as in Access.
	Hosts []string
	// Read and Write are further absolute paths for all children.
	Read, Write []string
	// Mask are absolute paths that children find empty.
	Mask []string
	// Unwatched has nobody keep what children change.
	Unwatched bool
	// Memory is how many bytes the processes of a child may take together; zero
	// is a quarter of the machine's.
	Memory int64
	Pos    string
}
