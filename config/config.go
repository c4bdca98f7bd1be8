package config

import (
	"encoding/json"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
)

// Config is an agent.hcl. A Pos in it is a place in the file, "agent.hcl:12".
type Config struct {
	// Path is the file, as it was named; Dir its directory.
	Path, Dir string
	// SHA256 is the hash of the file's content, in lower-case hex.
	SHA256 string

	// Instructions are for clients' models, beside toolhost's own.
	Instructions string

	Workspace Workspace
	Variables []Variable
	// Tools are the command tools in the order of the file, with their Access.
	Tools    []argv.Spec
	Plugins  []Plugin
	Servers  []Server
	Agents   []Agent
	Taskfile *Taskfile // nil without such a block
	Toolsets []Toolset
	Builtins Builtins
	Limits   Limits
	Web      Web
	Record   Record
	// Resources and Prompts are offered to MCP clients.
	Resources   []argv.Resource
	Prompts     []argv.Prompt
	Credentials []Credential
	Model       *Model  // nil without such a block
	Policy      *Policy // nil without such a block
	// Granted are the permissions of the permissions block; nil, meaning all, without one.
	Granted []tool.Permission
	Sandbox *Sandbox
	// ReadOnly offers only the standard tools that read, while a file awaits approval. A file cannot set it.
	ReadOnly bool
	// Digests are the hashes of the files that blocks with a grant name, as approved; see ApprovedFiles. Nil if
	// the file was not approved permanently.
	Digests map[string]string

	// Leads maps the file's paths to where symlinks led when it was judged, see Judge.
	Leads map[string]string

	// Secrets are values from the environment and of sensitive variables, and derived ones, longest first:
	// never to be shown.
	Secrets []string
	// EnvNames are the environment variables that the file reads.
	EnvNames []string

	file   *hcl.File
	places map[string]hcl.Range      // of examples, by their Pos
	attrs  map[string]hcl.Expression // of attributes, by At's argument
}

// Workspace is the workspace block.
type Workspace struct {
	// Root is the workspace directory, resolved against the file's directory; by default Dir.
	Root string
	// Allow are further trees that tools may use, resolved like Root.
	Allow []string
	// Protect are globs, relative to Root, of what file tools may not write.
	Protect []string
	Pos     string
}

// Variable is a variable block with its value in this load.
type Variable struct {
	Name, Description string
	// Value is the value as JSON; nil for a sensitive variable.
	Value     json.RawMessage
	Sensitive bool
	// From is "default", "command line" or "environment".
	From string
	Pos  string
}

// Access is what the sandbox grants to a child process beyond the workspace.
type Access = argv.Access

// Plugin is a plugin block.
type Plugin struct {
	Name string
	// Source is what to run: a path that begins with a dot, resolved against the file's directory, or an
	// installed plugin's name.
	Source string
	// Version constrains the version of an installed plugin, such as "~> 1.2"; may be empty.
	Version string
	// SHA256 pins the binary, in lower-case hex; may be empty.
	SHA256 string
	// Config is the undecoded config block.
	Config PluginConfig
	// Prefix precedes the names of its tools.
	Prefix string
	Args   []string
	Env    map[string]string
	// Timeout bounds one call, StartTimeout the start; zero is the default.
	Timeout, StartTimeout time.Duration
	// IdleTimeout ends an unused plugin: zero means the default, negative never.
	IdleTimeout time.Duration
	// Permissions are what it is granted; nil means all that its tools ask for.
	Permissions []tool.Permission
	Access      Access
	Pos         string
}

// Server is an mcp block: another MCP server, whose tools are offered too.
type Server struct {
	Name string
	// Exactly one of Command and URL is set.
	Command []string
	Env     map[string]string
	URL     string
	Headers map[string]string
	OAuth   *OAuth // nil without such a block
	// Prefix precedes the names of its tools.
	Prefix string
	// Include and Exclude are globs on the server's tool names. An empty Include takes all.
	Include, Exclude []string
	// Risk overrides the risk of the server's tools, by globs on their names.
	Risk map[string]tool.Risk
	// Timeout bounds one call, StartTimeout connecting; zero is the default.
	Timeout, StartTimeout time.Duration
	// Protocol pins the protocol version, "2025-11-25"; empty negotiates.
	Protocol string
	// Roots are its absolute working directories; nil means the default.
	Roots  []string
	Access Access
	Pos    string
}

// Taskfile is the taskfile block.
type Taskfile struct {
	// Path is relative to the workspace.
	Path    string
	Timeout time.Duration // of one run; zero is the default
	Access  Access
	Pos     string
}

// Toolset is a toolset block.
type Toolset struct {
	Name string
	// Tools are the names of the tools, as in their sources.
	Tools []string
	// Rename maps names of tools to their names in this set.
	Rename map[string]string
	// Search offers MCP clients a search among the tools instead of the list.
	Search bool
	Pos    string
	// Resources and Prompts are the names in the set; nil if the block has none.
	Resources, Prompts []string
	// ToolPos is the place of each of Tools.
	ToolPos []string
}

// Builtins are the options of builtin tools, from their builtin blocks.
type Builtins struct {
	// Unescape is an option of edit_file: "contract", "fallback" or "never"; empty means the default.
	Unescape string
}

// Limits is the limits block. Zero means the default.
type Limits struct {
	Output    int64         // bytes of a result, and of each stream of a command
	Timeout   time.Duration // of one call
	Processes int           // concurrent child processes
	Pos       string
}

// Record is the record block. Zero means the default.
type Record struct {
	Keep time.Duration // how long entries stay
	Size int64         // bytes of all that is kept
	// Required fails calls that cannot be recorded, before they run.
	Required bool
	// Ignore are .gitignore patterns of changes by commands that are not kept.
	Ignore []string
	Pos    string
}

// Web is the web block.
type Web struct {
	// Allow are addresses, CIDRs or hosts exempt from the network guard.
	Allow   []string
	Timeout time.Duration
	MaxSize int64 // bytes of a response
	// Search is the URL that web_search asks; empty means the default.
	Search string
	Pos    string
}

// Action is a policy's decision on a call: "allow", "review", "ask" or "deny".
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

// Bounds limit the changes of a call under review that need no person's approval.
type Bounds struct {
	// Files bounds the paths, Bytes what is written; zero means no bound.
	Files int
	Bytes int64
	// Paths are globs of what may change; empty means all.
	Paths []string
	// Deletes allows removals.
	Deletes bool
	// Deny refuses a call beyond the bounds, instead of asking the user.
	Deny bool
}

// Rule is a policy rule. It matches a call that meets all conditions that are set.
type Rule struct {
	Name string
	// Tool is the name of a tool.
	Tool string
	// Params is a regular expression on the parameters as compact JSON with sorted keys.
	Params string
	// Command is the beginning of a command line, in words: "git push".
	Command string
	// Paths are globs of places that a call names, relative to the workspace. With Review, Limits has them.
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
	// Network is the default for children whose block has none. Access has it applied.
	Network bool
	// Hosts are what they reach otherwise, as in Access.
	Hosts []string
	// Read and Write are further absolute paths for all children.
	Read, Write []string
	// Mask are absolute paths that children find empty.
	Mask []string
	// Unwatched turns off the record of children's changes.
	Unwatched bool
	// Memory bounds the memory of a child's processes together, in bytes; zero means a quarter of the
	// machine's.
	Memory int64
	Pos    string
}
