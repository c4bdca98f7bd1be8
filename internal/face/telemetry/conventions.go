package telemetry

import (
	"os"
	"strings"
)

// ExecuteTool is gen_ai.operation.name of a call.
const ExecuteTool = "execute_tool"

// SpanName returns the name of a call's span by OpenTelemetry's conventions: over MCP the request's
// method and the tool, else the GenAI operation and the tool.
func SpanName(method, tool string) string {
	if method == "" {
		method = ExecuteTool
	}
	return method + " " + tool
}

// ToolType returns gen_ai.tool.type: extension for a tool of another MCP server, else function; ""
// without a tool.
func ToolType(source string) string {
	switch {
	case source == "":
		return ""
	case strings.HasPrefix(source, "mcp "):
		return "extension"
	}
	return "function"
}

// ContentAsked reports whether the environment asks for parameters and results, by the variable that
// GenAI instrumentations share.
func ContentAsked() bool {
	switch strings.ToLower(os.Getenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")) {
	case "true", "span_only", "span_and_event":
		return true
	}
	return false
}
